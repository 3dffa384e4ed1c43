/**
 * What is known of models: their prices and windows. A person's table wins over the corrections, and these over the published
 * catalog; a model that none of them names is unknown.
 */
import type { ModelPrice } from '../../workflows/core/budget/spend';
import type { Correction } from './model-corrections';
import { corrections } from './model-corrections';
import type { PriceTable, WindowTable } from './model-tables';
import { checkPrices, namesOf, rowOf } from './model-tables';
import { isSnapshotOf, publishedPrices, publishedWindow } from './genai-prices-catalog';

function correctionOf(model: string): Correction {
  const name = namesOf('', model).at(-1) ?? '';
  return [...corrections].find(([row]) => isSnapshotOf(row, name))?.[1] ?? {};
}

/** The price of a model at a time (ADR 0020). Contract: undefined if unknown; never another model's price. */
export function priceOf(
  provider: string,
  model: string,
  own: PriceTable = {},
  atMs = Date.now(),
): ModelPrice | undefined {
  const found =
    rowOf(own, provider, model) ??
    correctionOf(model).prices ??
    publishedPrices(provider, model, atMs);
  return found && checkPrices(`Price of ${provider}/${model}`, found);
}

/** Tokens that a model takes as input. Contract: undefined if unknown; never another model's window. */
export function windowOf(
  provider: string,
  model: string,
  own: WindowTable = {},
): number | undefined {
  return (
    rowOf(own, provider, model) ??
    correctionOf(model).windowTokens ??
    publishedWindow(provider, model)
  );
}

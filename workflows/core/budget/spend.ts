/** What calls consume and may spend: shared by the core, which keeps the ledger, and the activities, which do the spending. */
import type { ModelPrice } from './model-price';
import { costNanoUsd, totalTokens } from './model-price';
import type { Usage } from './usage';
import { addUsage, noUsage } from './usage';

/** A budget as people write it. */
export interface Budget {
  /** US dollars. */
  readonly usd?: number;
  /** Tokens of every class together. */
  readonly tokens?: number;
}

/** The most that something may spend; an absent field has no limit. */
export interface Allowance {
  readonly nanoUsd?: number;
  readonly tokens?: number;
}

/** What a call consumed, all of its attempts together. */
export interface CallSpend {
  readonly usage: Usage;
  /** Absent where the model has no known price. */
  readonly nanoUsd?: number;
  /** Of that, what the vendor did not tell: replies that broke off, workers that died in mid-call. */
  readonly estimated?: { readonly nanoUsd: number; readonly tokens: number };
}

/** A call that consumed nothing. */
export const noSpend: CallSpend = { usage: noUsage, nanoUsd: 0 };

/** Adds what two attempts or calls consumed; unknown money stays unknown. */
export function addSpend(left: CallSpend, right: CallSpend): CallSpend {
  const known = left.nanoUsd !== undefined && right.nanoUsd !== undefined;
  const estimated = addEstimates(left.estimated, right.estimated);
  return {
    usage: addUsage(left.usage, right.usage),
    ...(known ? { nanoUsd: (left.nanoUsd ?? 0) + (right.nanoUsd ?? 0) } : {}),
    ...(estimated === undefined ? {} : { estimated }),
  };
}

function addEstimates(
  left: CallSpend['estimated'],
  right: CallSpend['estimated'],
): CallSpend['estimated'] {
  if (left === undefined || right === undefined) return left ?? right;
  return { nanoUsd: left.nanoUsd + right.nanoUsd, tokens: left.tokens + right.tokens };
}

/** What one request consumed. Contract: `usage` is that of one request. */
export function spendOf(
  usage: Usage,
  price: ModelPrice | undefined,
  origin: 'told' | 'estimated' = 'told',
): CallSpend {
  const nanoUsd = price === undefined ? undefined : costNanoUsd(price, usage);
  const tokens = totalTokens(usage);
  return {
    usage,
    ...(nanoUsd === undefined && tokens > 0 ? {} : { nanoUsd: nanoUsd ?? 0 }),
    ...(origin === 'told' || tokens === 0 ? {} : { estimated: { nanoUsd: nanoUsd ?? 0, tokens } }),
  };
}

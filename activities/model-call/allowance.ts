/** Whether the budget allows a request: its highest cost against what its call may spend. */
import type { Allowance, CallSpend, ModelPrice, Usage } from '../../workflows/core/budget/spend';
import {
  affordableOutputTokens,
  boundOf,
  costNanoUsd,
  estimatedSpend,
  fixedMargin,
  noUsage,
  totalTokens,
  usdText,
  worstPromptNanoUsd,
  worstRequestNanoUsd,
} from '../../workflows/core/budget/spend';
import type { RequestMeasure } from '../measure/measure-request';
import { defined } from '../../workflows/core/json';

/** A request before it is sent. */
export interface PaidRequest {
  readonly measure: Pick<RequestMeasure, 'tokens' | 'countedTokens'> &
    Partial<Pick<RequestMeasure, 'plausible'>>;
  readonly price: ModelPrice | undefined;
  /** Largest reply that is asked for. */
  readonly maxOutputTokens: number;
}

/** Smallest output limit that is worth a request: a reply that is cut below it is wasted (ADR 0020). */
const leastOutputTokens = 256;

/** Margin on our measure of the part that the vendor has not counted yet (ADR 0020). */
const measureMargin = 1.3;

/** The most input tokens that the vendor may count. */
export function mostInputTokens({
  tokens,
  countedTokens,
}: Pick<PaidRequest['measure'], 'tokens' | 'countedTokens'>): number {
  const fresh = Math.max(tokens - countedTokens, 0);
  return Math.ceil(countedTokens + fresh * measureMargin) + fixedMargin;
}

/** What is left of an allowance after spending; an estimate counts at its upper bound. */
export function leftOf({ nanoUsd, tokens }: Allowance, spend: CallSpend): Allowance {
  const bound = boundOf(spend);
  return defined({
    nanoUsd: nanoUsd === undefined ? undefined : nanoUsd - bound.nanoUsd,
    tokens: tokens === undefined ? undefined : tokens - bound.tokens,
  });
}

/** Output tokens that the allowance can pay after the request's input. */
function payableOutput({ measure, price }: PaidRequest, allowance: Allowance): number {
  const input = mostInputTokens(measure);
  const byTokens = (allowance.tokens ?? Infinity) - input;
  if (allowance.nanoUsd === undefined || price === undefined) return byTokens;
  const leftNanoUsd = allowance.nanoUsd - worstPromptNanoUsd(price, input);
  return Math.min(
    byTokens,
    leftNanoUsd < 0 ? -1 : affordableOutputTokens(price, input, leftNanoUsd),
  );
}

/**
 * The output limit with which a request stays within its allowance: the wanted one, or a lower one that is still useful. A text
 * says why no useful reply can be paid for.
 *
 * Contract: pure; what the vendor bills for a request with that limit is within the allowance as long as its count of the
 * uncounted part stays within the margin.
 */
export function limitWithin(
  request: PaidRequest,
  allowance: Allowance | undefined,
): number | string {
  const { maxOutputTokens, price } = request;
  if (allowance === undefined) return maxOutputTokens;
  if (allowance.nanoUsd !== undefined && price === undefined)
    return 'the price of the next model call is unknown; set prices on its route, or use a budget in tokens';
  const payable = payableOutput(request, allowance);
  return payable >= Math.min(maxOutputTokens, leastOutputTokens)
    ? Math.min(maxOutputTokens, payable)
    : overBudgetMessage(request, allowance);
}

function overBudgetMessage(
  { measure, price, maxOutputTokens }: PaidRequest,
  allowance: Allowance,
): string {
  const input = mostInputTokens(measure);
  const output = Math.min(maxOutputTokens, leastOutputTokens);
  const parts: string[] = [];
  if (allowance.nanoUsd !== undefined && price !== undefined) {
    const need = worstRequestNanoUsd(price, input, output);
    parts.push(`${usdText(need)}, and only ${usdText(Math.max(allowance.nanoUsd, 0))} is left`);
  }
  if (allowance.tokens !== undefined)
    parts.push(`${input + output} tokens, and only ${Math.max(allowance.tokens, 0)} are left`);
  return `the next model call may take ${parts.join(' and ')}`;
}

/** Shortest prompt that vendors cache, in tokens. Source: Anthropic's and OpenAI's guides to prompt caching. */
const leastCachedTokens = 1_024;

/** The expected input of a request: what the vendor counted before is in its cache, if it is long enough. */
export function expectedInput({ tokens, countedTokens }: PaidRequest['measure']): Usage {
  const cacheReadTokens = countedTokens < leastCachedTokens ? 0 : Math.min(countedTokens, tokens);
  return { ...noUsage, inputTokens: tokens - cacheReadTokens, cacheReadTokens };
}

/**
 * What a request without a complete reply consumed: the vendor's own count as far as there is one, `outputTokens` for what
 * arrived, and, as the upper bound, the whole reply that it asked for.
 */
export function brokenSpend(
  { measure, price, maxOutputTokens }: PaidRequest,
  reported: Usage | undefined,
  outputTokens: number,
): CallSpend {
  const known = reported === undefined ? noUsage : { ...reported, outputTokens: 0 };
  const input = reported === undefined ? expectedInput(measure) : known;
  const inputTokens = reported === undefined ? mostInputTokens(measure) : totalTokens(known);
  const mostOutput = Math.max(maxOutputTokens, outputTokens);
  const nanoUsd = price === undefined ? 0 : mostNanoUsd(price, reported, inputTokens, mostOutput);
  return estimatedSpend(price, {
    expected: { ...input, outputTokens },
    known,
    most: { nanoUsd, tokens: inputTokens + mostOutput },
  });
}

function mostNanoUsd(
  price: ModelPrice,
  reported: Usage | undefined,
  inputTokens: number,
  outputTokens: number,
): number {
  return reported === undefined
    ? worstRequestNanoUsd(price, inputTokens, outputTokens)
    : costNanoUsd(price, { ...reported, outputTokens });
}

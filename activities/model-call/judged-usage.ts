/** What a whole reply consumed: the vendor's counts as far as they can be true, and our own where they cannot. */
import type { CallSpend, ModelPrice, Usage } from '../../workflows/core/budget/spend';
import {
  costNanoUsd,
  estimatedSpend,
  noUsage,
  spendOf,
  totalTokens,
  worstRequestNanoUsd,
} from '../../workflows/core/budget/spend';
import { judgeCount } from '../measure/call-measure';
import { countNearly } from '../measure/count-tokens';
import type { ModelReply } from '../providers/provider';
import type { PaidRequest } from './allowance';
import { expectedInput, mostInputTokens } from './allowance';

/** What a request with its reply consumed. */
export interface JudgedUsage {
  /** As it counts: not below what the vendor reports, nor below our own count where its report cannot be true. */
  readonly usage: Usage;
  readonly spend: CallSpend;
}

/** Everything that a reply says: text, reasoning, names and arguments of calls. */
function saidIn(reply: ModelReply): string {
  return [
    ...reply.blocks.map((block) => (block.type === 'vendor-block' ? '' : block.text)),
    ...reply.toolCalls.map((call) => call.name + call.argumentsText),
  ].join('');
}

/** Tokens of a prompt, cached ones counted. */
export function promptTokensOf(usage: Usage): number {
  return totalTokens(usage) - usage.outputTokens;
}

/** Times by which a reply, hidden thoughts included, may pass the limit that was asked for; some servers do not keep it (ADR 0047). */
const mostOutputTimes = 4;

/** The vendor's count of a reply; undefined if it is missing though something was said, or more than there can be. */
function believedOutput(
  { outputTokens }: Usage,
  said: string,
  { maxOutputTokens }: PaidRequest,
): number | undefined {
  if (outputTokens <= 0) return said === '' ? 0 : undefined;
  const most = mostOutputTimes * maxOutputTokens + Buffer.byteLength(said);
  return outputTokens <= most ? outputTokens : undefined;
}

/**
 * Judges the usage of a reply.
 *
 * Contract: pure. What is not believed is an estimate with an upper bound: of the input our measure, of the output our own count.
 * A count that is too low is the least that the vendor bills; one that is too high counts as none.
 * Source: R-CTX-11, ADR 0047.
 */
export function judgeUsage(reply: ModelReply, request: PaidRequest): JudgedUsage {
  const { measure, price, maxOutputTokens } = request;
  const reported = reply.usage;
  const said = saidIn(reply);
  const verdict = judgeCount(promptTokensOf(reported), measure);
  const knownOutput = believedOutput(reported, said, request);
  if (verdict === 'believed' && knownOutput !== undefined)
    return { usage: reported, spend: spendOf(reported, price) };
  const isBilled = verdict !== 'missing' && verdict !== 'too-large';
  const known: Usage = { ...(isBilled ? reported : noUsage), outputTokens: knownOutput ?? 0 };
  const outputTokens = knownOutput ?? countNearly(said);
  const input = verdict === 'believed' ? known : largerInput(known, expectedInput(measure));
  const usage: Usage = { ...input, outputTokens };
  const mostInput = Math.max(
    promptTokensOf(usage),
    verdict === 'believed' ? 0 : mostInputTokens(measure),
  );
  const mostOutput = knownOutput ?? Math.max(maxOutputTokens, outputTokens);
  return { usage, spend: spendWithin(price, { known, expected: usage }, [mostInput, mostOutput]) };
}

/** What was consumed: of what is known and what is expected, the dearer one, and at most so many tokens of input and output. */
function spendWithin(
  price: ModelPrice | undefined,
  { known, expected }: { readonly known: Usage; readonly expected: Usage },
  [input, output]: readonly [number, number],
): CallSpend {
  const tokens = input + output;
  if (price === undefined)
    return estimatedSpend(price, { expected, known, most: { nanoUsd: 0, tokens } });
  // Classes have prices of their own: fewer tokens may cost more.
  const isDearer = costNanoUsd(price, known) > costNanoUsd(price, expected);
  const most = { nanoUsd: worstRequestNanoUsd(price, input, output), tokens };
  return estimatedSpend(price, { expected: isDearer ? known : expected, known, most });
}

function largerInput(left: Usage, right: Usage): Usage {
  return promptTokensOf(left) >= promptTokensOf(right) ? left : right;
}

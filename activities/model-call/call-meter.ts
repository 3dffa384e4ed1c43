/** Counts what the attempts of one model call consume, however they end. */
import type { InfraError } from '../../workflows/core/failure';
import type { Allowance, CallSpend, Usage } from '../../workflows/core/budget/spend';
import { addSpend, noUsage, spendOf, totalTokens } from '../../workflows/core/budget/spend';
import { InfraException } from '../lifecycle/infra-exception';
import { countAllTokens } from '../measure/count-tokens';
import type { BrokenReply, ModelReply } from '../providers/provider';
import type { PaidRequest } from './allowance';
import { leftOf, limitWithin, worstSpend } from './allowance';

/** What the meter knows when an attempt begins. */
export interface MeterStart {
  readonly allowance: Allowance | undefined;
  /** What earlier attempts reported. */
  readonly spend: CallSpend;
  /** Earlier attempts without a report: their workers died. */
  readonly lostAttempts: number;
}

/** The meter of one attempt; `spend` is the sum over all attempts of the call. */
export class CallMeter {
  private request: PaidRequest | undefined;
  private uncharged: number;
  private total: CallSpend;

  constructor(private readonly start: MeterStart) {
    this.total = start.spend;
    this.uncharged = start.lostAttempts;
  }

  /** All that the call has consumed so far. */
  get spend(): CallSpend {
    return this.total;
  }

  /** The same as part of a result or failure, if anything was consumed. */
  spent(): { readonly spend?: CallSpend } {
    return totalTokens(this.total.usage) === 0 ? {} : { spend: this.total };
  }

  /**
   * Restores the consumption that an earlier attempt stored. Contract: both are sums of one call, so the larger holds the
   * other.
   */
  resume(kept: CallSpend): void {
    if (totalTokens(kept.usage) > totalTokens(this.total.usage)) this.total = kept;
  }

  /** Charges what lost attempts may have consumed, each once, at the highest cost of such a request. */
  chargeLost(request: PaidRequest): void {
    for (; this.uncharged > 0; this.uncharged -= 1) {
      // An attempt that could not be paid was never sent.
      const sent = limitWithin(request, this.left());
      if (typeof sent === 'number')
        this.total = addSpend(this.total, worstSpend({ ...request, maxOutputTokens: sent }));
    }
  }

  /**
   * Admits a request of the attempt: gives its output limit.
   *
   * Contract: what lost attempts may have consumed is charged first.
   * Errors: `budget_exhausted`; nothing was sent then.
   */
  admit(request: PaidRequest): number {
    this.chargeLost(request);
    const limit = limitWithin(request, this.left());
    if (typeof limit !== 'number')
      throw new InfraException({ code: 'budget_exhausted', message: limit });
    this.request = { ...request, maxOutputTokens: limit };
    return limit;
  }

  /** Charges a complete reply; if the vendor reports no usage, by our own count. */
  chargeReply(reply: ModelReply): void {
    if (totalTokens(reply.usage) > 0) {
      this.add(spendOf(reply.usage, this.request?.price));
      return;
    }
    const said = [
      ...reply.blocks.map((block) => block.text),
      ...reply.toolCalls.map((call) => call.name + call.argumentsText),
    ];
    this.add(this.estimate(undefined, said.join('')));
  }

  /** Charges a request without a complete reply. Contract: `failure` is absent if the caller itself aborted it. */
  chargeBroken(broken: BrokenReply | undefined, failure: InfraError | undefined): void {
    if (this.request === undefined || broken === undefined) return;
    const reachedModel = failure === undefined || failure.code === 'timeout';
    if (!broken.wasAccepted && !reachedModel) return;
    this.add(this.estimate(broken.usage, broken.said));
  }

  /** Whether this attempt's request was admitted, and every lost attempt before it charged. */
  get hasAdmitted(): boolean {
    return this.request !== undefined;
  }

  /** What the reply's own usage does not include: estimates and earlier attempts. */
  beyondReply(): { readonly spend?: CallSpend } {
    const hasEarlier = totalTokens(this.start.spend.usage) > 0;
    return hasEarlier || this.total.estimated !== undefined ? { spend: this.total } : {};
  }

  private left(): Allowance | undefined {
    const { allowance } = this.start;
    return allowance === undefined ? undefined : leftOf(allowance, this.total);
  }

  private add(spend: CallSpend): void {
    this.total = addSpend(this.total, spend);
  }

  /** The vendor's numbers as far as they exist; for the rest, our own count. */
  private estimate(reported: Usage | undefined, said: string): CallSpend {
    const { price, measure } = this.request ?? {};
    const outputTokens = Math.max(reported?.outputTokens ?? 0, countAllTokens(said));
    const usage: Usage = {
      ...(reported ?? { ...noUsage, inputTokens: measure?.tokens ?? 0 }),
      outputTokens,
    };
    const spend = spendOf(usage, price, 'estimated');
    if (reported === undefined || spend.estimated === undefined) return spend;
    const known = spendOf({ ...usage, outputTokens: 0 }, price);
    const nanoUsd = (spend.nanoUsd ?? 0) - (known.nanoUsd ?? 0);
    return { ...spend, estimated: { nanoUsd, tokens: outputTokens } };
  }
}

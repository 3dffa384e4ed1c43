/** Counts what the attempts of one model call consume, however they end. */
import type { InfraError } from '../../workflows/core/failure';
import type { Allowance, CallSpend } from '../../workflows/core/budget/spend';
import { addSpend, noSpend, spendOf, totalTokens } from '../../workflows/core/budget/spend';
import { InfraException } from '../lifecycle/infra-exception';
import { countNearly } from '../measure/count-tokens';
import type { BrokenReply, ModelReply } from '../providers/provider';
import type { PaidRequest } from './allowance';
import { brokenSpend, leftOf, limitWithin } from './allowance';
import { judgeUsage } from './judged-usage';

/** What the next attempt, or the run, must know if the worker dies. */
export interface MeterReading {
  /** All that was consumed before the request in flight. */
  readonly spend: CallSpend;
  /** What the request in flight has consumed so far. */
  readonly open?: CallSpend;
  /** Requests that were sent so far, including the one in flight. */
  readonly sent: number;
}

/** What the meter knows when an attempt begins. */
export interface MeterStart extends MeterReading {
  readonly allowance: Allowance | undefined;
  /** Earlier attempts whose workers died before a reading reported their request. */
  readonly lostAttempts: number;
}

/** A request in flight. */
interface OpenRequest {
  readonly request: PaidRequest;
  progress?: () => BrokenReply;
}

/** The meter of one attempt; `spend` is the sum over all attempts of the call. */
export class CallMeter {
  private inFlight: OpenRequest | undefined;
  private total: CallSpend;
  private sent: number;
  private lost: number;
  /** `total` includes the request in flight that the previous attempt reported. */
  private holdsOpen: boolean;

  constructor(private readonly start: MeterStart) {
    const { spend, open, sent, lostAttempts } = start;
    this.total = open === undefined ? spend : addSpend(spend, open);
    this.sent = sent;
    this.lost = lostAttempts;
    this.holdsOpen = open !== undefined;
  }

  /** Whether the run has a budget, which each request counts against. */
  get isBudgeted(): boolean {
    return this.start.allowance !== undefined;
  }

  /** All that the call has consumed so far, without the request in flight. */
  get spend(): CallSpend {
    return this.total;
  }

  /** Earlier attempts that may have sent a request, and are not charged yet. */
  get lostAttempts(): number {
    return this.lost;
  }

  /** The same as part of a result or failure, if anything was or may have been consumed. */
  spent(): { readonly spend?: CallSpend } {
    const { usage, estimated } = this.total;
    return totalTokens(usage) === 0 && estimated === undefined ? {} : { spend: this.total };
  }

  /** What must outlive the worker. */
  reading(): MeterReading {
    const { request, progress } = this.inFlight ?? {};
    const open = request && brokenCost(request, progress?.());
    return { spend: this.total, sent: this.sent, ...(open === undefined ? {} : { open }) };
  }

  /**
   * Restores the reading that an earlier attempt stored with an answer. If it is newer than the last heartbeat, that attempt
   * died later, and may have sent one more request. Contract: called before this attempt sends anything.
   */
  resume({ spend, sent }: MeterReading): void {
    if (sent < this.sent) return;
    if (this.holdsOpen) this.lost += 1;
    this.holdsOpen = false;
    this.total = spend;
    this.sent = sent;
  }

  /**
   * Charges attempts whose workers died before they reported a request: for each, a request like this one, whether or not it is
   * sent again.
   */
  chargeLost(request: PaidRequest): void {
    for (; this.lost > 0; this.lost -= 1) {
      // An attempt that could not be paid was never sent.
      const maxOutputTokens = limitWithin(request, this.left());
      if (typeof maxOutputTokens === 'number')
        this.add(brokenSpend({ ...request, maxOutputTokens }, undefined, 0));
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
    this.inFlight = { request: { ...request, maxOutputTokens: limit } };
    this.sent += 1;
    return limit;
  }

  /** The admitted request goes out; `progress` says how far it got. */
  sending(progress: () => BrokenReply): void {
    if (this.inFlight !== undefined) this.inFlight.progress = progress;
  }

  /** Charges a complete reply; where the vendor's counts cannot be true, by our own. */
  chargeReply(reply: ModelReply): void {
    const request = this.landed()?.request;
    this.add(
      request === undefined ? spendOf(reply.usage, undefined) : judgeUsage(reply, request).spend,
    );
  }

  /** Charges a request without a complete reply. Contract: `failure` is absent if the caller itself aborted it. */
  chargeBroken(failure: InfraError | undefined): void {
    const { request, progress } = this.landed() ?? {};
    if (request === undefined || progress === undefined) return;
    const broken = progress();
    // If a gateway timed out, the model behind it may have worked.
    const isUnpaid =
      broken.reach === 'unsent' || (broken.reach === 'refused' && failure?.code !== 'timeout');
    if (!isUnpaid) this.add(brokenCost(request, broken));
  }

  /** What the reply's own usage does not include: estimates and earlier attempts. */
  beyondReply(): { readonly spend?: CallSpend } {
    const { spend, open } = this.start;
    const hasEarlier = totalTokens(spend.usage) > 0 || open !== undefined;
    return hasEarlier || this.total.estimated !== undefined ? { spend: this.total } : {};
  }

  private landed(): OpenRequest | undefined {
    const landed = this.inFlight;
    this.inFlight = undefined;
    return landed;
  }

  private left(): Allowance | undefined {
    const { allowance } = this.start;
    return allowance === undefined ? undefined : leftOf(allowance, this.total);
  }

  private add(spend: CallSpend): void {
    this.total = addSpend(this.total, spend);
  }
}

/** The vendor's numbers as far as they exist; for the rest, our own count. */
function brokenCost(request: PaidRequest, broken: BrokenReply | undefined): CallSpend {
  const { usage, said = '' } = broken ?? {};
  return brokenSpend(request, usage, Math.max(usage?.outputTokens ?? 0, countNearly(said)));
}

/** The meter of a call that has no earlier attempts. */
export const firstReading: MeterReading = { spend: noSpend, sent: 0 };

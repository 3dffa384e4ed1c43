/** Gathers what quick steps of a run report, since each report that leaves the sandbox takes a copy of the workflow's info along. */
import type { RunStep } from '../../workflows/run-observer';
import type { CountRecord, SpanRecord, StepReport } from './step-report';

/** Milliseconds that must lie between two reports of a run at work, by the workflow's clock. */
const gatheringMs = 1_000;

/**
 * What a run has to report.
 *
 * Contract: sends by the workflow's clock alone. So a replay sends at the same steps, where the SDK drops it, and a worker that
 * takes the run over sends what the one before still held.
 */
export class GatheredReports {
  private spans: SpanRecord[] = [];
  private counts: CountRecord[] = [];
  private lastSentMs = -Infinity;

  constructor(private readonly send: (report: StepReport) => void) {}

  /** Takes a report. `isAtWork`: the next one will follow when a model or a tool has answered; others are sent at once. */
  take({ spans, counts }: StepReport, atMs: number, isAtWork: boolean): void {
    this.spans.push(...spans);
    this.counts.push(...counts);
    if (!isAtWork || atMs - this.lastSentMs >= gatheringMs) this.flush(atMs);
  }

  private flush(atMs: number): void {
    const { spans, counts } = this;
    if (spans.length + counts.length === 0) return;
    this.spans = [];
    this.counts = [];
    this.lastSentMs = atMs;
    this.send({ spans, counts });
  }
}

/** Whether the next step comes when a model or a tool has answered. Subagents and Temporal work may take days. */
export function isAtWork({ event, decided: [{ phase }, commands] }: RunStep): boolean {
  if (phase.type === 'calling-model') return true;
  if (phase.type !== 'running-tools') return false;
  const beganWork = event.type === 'tool-call-completed' && event.result.work !== undefined;
  return !beganWork && !commands.some(({ type }) => type === 'run-subagent');
}

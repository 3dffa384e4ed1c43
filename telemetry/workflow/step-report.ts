/** What leaves the workflow's sandbox: spans and counts as plain data, made of facts of the run's history. */
import type { CounterName } from './counters';

/** Values that OpenTelemetry takes. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[]>
>;

/** A sampled span that has ended. */
export interface SpanRecord {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 'client' | 'internal';
  /** Milliseconds since the epoch, by the workflow's clock. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  /** Absent: it went well. */
  readonly error?: string;
}

/** What a counter goes up by. */
export interface CountRecord {
  readonly name: CounterName;
  /** Above 0. */
  readonly value: number;
  readonly tags: Readonly<Record<string, string>>;
}

/** What steps of a run brought. */
export interface StepReport {
  readonly spans: readonly SpanRecord[];
  readonly counts: readonly CountRecord[];
}

/** How it leaves the sandbox. Not called in replays. */
export interface TelemetrySinks {
  readonly [sink: string]: { report(step: StepReport): void };
  readonly holdfastTelemetry: { report(step: StepReport): void };
}

/** A span as it leaves the workflow's sandbox: plain data, made of facts of the run's history. */

/** Values that OpenTelemetry takes. */
export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[]>
>;

/** A span that has ended. */
export interface SpanRecord {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly isSampled: boolean;
  readonly name: string;
  readonly kind: 'client' | 'internal';
  /** Milliseconds since the epoch, by the workflow's clock. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  /** Absent: it went well. */
  readonly error?: string;
}

/** How spans leave the sandbox; the worker's half is in `workflow-sink.ts`. Not called in replays. */
export interface TelemetrySinks {
  readonly [sink: string]: { export(span: SpanRecord): void };
  readonly holdfastTelemetry: { export(span: SpanRecord): void };
}

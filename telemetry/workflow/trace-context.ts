/** The trace of a workflow: from the header that its starter sent, else made of its own ids, the same in every replay. */
import type { Headers, Payload } from '@temporalio/common';
import { defaultPayloadConverter } from '@temporalio/common';
import type { WorkflowInfo } from '@temporalio/workflow';

/** Header of Temporal's own OpenTelemetry interceptors, in all its SDKs. */
const traceHeader = '_tracer-data';

/** What travels in the header: W3C Trace Context. */
interface Carrier {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** One workflow run in its trace. */
export interface TraceContext {
  readonly traceId: string;
  /** The span of this workflow run. */
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly isSampled: boolean;
  /** Adds the header that makes what is started a child of a span of this trace; default: the workflow run's own. */
  withHeader(headers: Headers, parentSpanId?: string): Headers;
  /** The same for Nexus, whose headers are texts. */
  readonly carrier: Carrier;
  /** The id of the workflow run's next span: the same ones in the same order in every replay. */
  nextSpanId(): string;
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}

/** Two words of 32 bits of a text: FNV-1a with different starts. Ids must differ within one trace, no more. */
function digest64(text: string): readonly [high: number, low: number] {
  let [low, high] = [0x811c_9dc5, 0x9747_b28c];
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x0100_0193);
    high = Math.imul(high ^ unit, 0x85eb_ca6b);
  }
  return [high, low];
}

const traceparentForm = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

function carrierIn(headers: Headers): Carrier | undefined {
  const payload: Payload | undefined = headers[traceHeader];
  if (payload === undefined) return undefined;
  try {
    const value: unknown = defaultPayloadConverter.fromPayload(payload);
    return typeof value === 'object' && value !== null && 'traceparent' in value
      ? (value as Carrier)
      : undefined;
  } catch {
    // Not ours, or written with a codec that this worker lacks.
    return undefined;
  }
}

/** A header whose bytes from `at` on are another id. The sandbox has no native encoder of text, and encoding is slow in it. */
function withId({ metadata, data }: Payload, at: number, id: string): Payload {
  const bytes = new Uint8Array(data ?? []);
  for (let index = 0; index < id.length; index += 1) bytes[at + index] = id.charCodeAt(index);
  return { metadata: metadata ?? null, data: bytes };
}

/**
 * The trace that a workflow run belongs to. A workflow whose starter sent none begins one whose id is that of its first run.
 *
 * Contract: uses neither random numbers nor the clock, so that a replay, and a worker without telemetry, run the same workflow.
 */
export function traceContextOf(
  { runId, firstExecutionRunId }: Pick<WorkflowInfo, 'runId' | 'firstExecutionRunId'>,
  headers: Headers,
): TraceContext {
  const received = carrierIn(headers);
  const parsed = traceparentForm.exec(received?.traceparent ?? '');
  const [, traceId = firstExecutionRunId.replaceAll('-', ''), parentSpanId, flags = '01'] =
    parsed ?? [];
  const [high, low] = digest64(runId);
  const prefix = hex(high);
  const spanId = prefix + hex(low);
  let made = 0;
  const { tracestate } = received ?? {};
  const carrier: Carrier = {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(parsed === null || tracestate === undefined ? {} : { tracestate }),
  };
  const own = defaultPayloadConverter.toPayload(carrier);
  const idAt = JSON.stringify(carrier).indexOf(`-${spanId}-`) + 1;
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    isSampled: (parseInt(flags, 16) & 1) === 1,
    carrier,
    withHeader: (given, parent) => ({
      ...given,
      [traceHeader]: parent === undefined ? own : withId(own, idAt, parent),
    }),
    nextSpanId: () => {
      made += 1;
      return prefix + hex(low + made);
    },
  };
}

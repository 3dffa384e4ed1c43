/** A workflow's trace: of its starter, or of its own ids; the same whenever it is asked for. */
import { defaultPayloadConverter } from '@temporalio/common';
import { traceContextOf } from '../../telemetry/workflow/trace-context';

const ids = {
  runId: '01a22790-a2ac-7ba3-a408-df15a3132f76',
  firstExecutionRunId: '01a22790-8d12-7d26-927b-d5a31ff5de5d',
};
const [traceId, parentId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];

function sent(carrier: unknown): Parameters<typeof traceContextOf>[1] {
  return { '_tracer-data': defaultPayloadConverter.toPayload(carrier) };
}

function carrierOf(headers: Parameters<typeof traceContextOf>[1]): unknown {
  const payload = headers['_tracer-data'];
  return payload && defaultPayloadConverter.fromPayload(payload);
}

test('goes on with the trace of the starter, its sampling and its state', () => {
  const carrier = { traceparent: `00-${traceId}-${parentId}-00`, tracestate: 'vendor=1' };
  const trace = traceContextOf(ids, sent(carrier));
  expect(trace).toMatchObject({ traceId, parentSpanId: parentId, isSampled: false });
  expect(carrierOf(trace.withHeader({}))).toEqual({
    traceparent: `00-${traceId}-${trace.spanId}-00`,
    tracestate: 'vendor=1',
  });
});

test.each([
  ['no header', {}],
  ['a header of another form', sent({ traceparent: 'no' })],
  ['a header that is no object', sent('text')],
  ['bytes that nobody can read', { '_tracer-data': { data: new Uint8Array([1, 2]) } }],
])('begins the trace of its first run with %s', (_what, headers) => {
  const trace = traceContextOf(ids, headers);
  expect(trace).toMatchObject({ traceId: '01a227908d127d26927bd5a31ff5de5d', isSampled: true });
  expect(trace.parentSpanId).toBeUndefined();
});

test('gives each call an id of its own, and the same ones again', () => {
  const [first, second] = [traceContextOf(ids, {}), traceContextOf(ids, {})];
  const other = traceContextOf({ ...ids, runId: ids.firstExecutionRunId }, {});
  const idsOf = (trace: typeof first): readonly string[] => [
    trace.spanId,
    ...Array.from({ length: 5_000 }, () => trace.nextSpanId()),
  ];
  const spanIds = idsOf(first);
  expect(spanIds).toEqual(idsOf(second));
  expect(new Set([...spanIds, ...idsOf(other)]).size).toBe(2 * spanIds.length);
  expect(spanIds.every((id) => /^[0-9a-f]{16}$/.test(id) && id !== '0'.repeat(16))).toBe(true);
});

test('keeps the headers of others, and makes a call the parent', () => {
  const other = defaultPayloadConverter.toPayload(1);
  const trace = traceContextOf(ids, {});
  const call = trace.nextSpanId();
  const headers = trace.withHeader({ other }, call);
  expect(headers['other']).toBe(other);
  expect(carrierOf(headers)).toEqual({ traceparent: `00-${trace.traceId}-${call}-01` });
  // The header of the run itself stays as it was.
  expect(carrierOf(trace.withHeader({}))).toEqual(trace.carrier);
});

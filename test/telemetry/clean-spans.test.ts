/** What leaves the process as a span went through the sanitizer. */
import { SpanStatusCode } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { cleaning } from '../../telemetry/clean-spans';

const secret = `sk-ant-api03-${'abCD1234'.repeat(11)}-AAAAAAAA`;

test('cleans name, attributes, status and events, and keeps everything else', () => {
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(cleaning(memory))],
  });
  const span = provider.getTracer('test').startSpan(`call ${secret}`);
  span.setAttributes({ key: secret, list: ['a', secret], n: 1, hidden: 'sk\u200b\u001b[31m' });
  span.setStatus({ code: SpanStatusCode.ERROR, message: `failed with ${secret}` });
  span.recordException(new Error(`thrown with ${secret}`));
  span.end();
  const [sent] = memory.getFinishedSpans();
  const { name, attributes, status, events } = sent ?? {};
  const text = JSON.stringify({ name, attributes, status, events });
  expect(text).not.toContain(secret.slice(0, 30));
  expect(text).not.toMatch(/\\u001b|\u200b/);
  expect(attributes).toMatchObject({ key: '[redacted]', list: ['a', '[redacted]'], n: 1 });
  expect(sent?.spanContext()).toEqual(span.spanContext());
  expect(sent?.duration).toBeDefined();
});

/** Keeps the very array that it was given. */
class KeepingExporter extends InMemorySpanExporter {
  passed: readonly ReadableSpan[] = [];
  override export(...[spans, done]: Parameters<SpanExporter['export']>): void {
    this.passed = spans;
    super.export(spans, done);
  }
}

test('passes on what is clean as it is', () => {
  const [memory, keeping] = [new InMemorySpanExporter(), new KeepingExporter()];
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
  const span = provider.getTracer('test').startSpan('chat claude-sonnet-5');
  span.setAttribute('gen_ai.conversation.id', 'run-4c1d2f9a-6f0b-4a52-9a0e-0f8f3b6d2f11').end();
  const spans = memory.getFinishedSpans();
  cleaning(keeping).export(spans, () => undefined);
  expect(spans).toHaveLength(1);
  expect(keeping.passed).toBe(spans);
});

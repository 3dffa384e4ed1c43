/** Spans as they leave the process: every text went through the sanitizer, as every line of the log does. */
import type { Attributes, AttributeValue } from '@opentelemetry/api';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';
import { withoutSecrets } from '../activities/untrusted/known-secrets';
import { stripHidden } from '../workflows/core/secrets/hidden-characters';

function clean(text: string): string {
  return withoutSecrets(stripHidden(text));
}

function cleanValue(value: AttributeValue | undefined): AttributeValue | undefined {
  if (typeof value === 'string') return clean(value);
  if (!Array.isArray(value)) return value;
  return value.map((each: unknown) => (typeof each === 'string' ? clean(each) : each)) as string[];
}

function cleanAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [key, cleanValue(value)]),
  );
}

function cleanSpan(span: ReadableSpan): ReadableSpan {
  const { status } = span;
  const events = span.events.map(({ attributes = {}, ...event }) => ({
    ...event,
    attributes: cleanAttributes(attributes),
  }));
  // The SDK's spans have getters of a class, which a copy would lose.
  return Object.create(span, {
    name: { value: clean(span.name) },
    attributes: { value: cleanAttributes(span.attributes) },
    events: { value: events },
    status: {
      value: status.message === undefined ? status : { ...status, message: clean(status.message) },
    },
  }) as ReadableSpan;
}

/** Every text of a span, a line each. */
function textOf({ name, attributes, events, status: { message = '' } }: ReadableSpan): string {
  const values = [attributes, ...events.map((event) => event.attributes ?? {})].flatMap((each) =>
    Object.values(each).flat(),
  );
  return [name, message, ...values.filter((value) => typeof value === 'string')].join('\n');
}

/** An exporter that cleans what it passes on. Most batches hold nothing to clean, and one look at all their texts tells so. */
export function cleaning(exporter: SpanExporter): SpanExporter {
  return {
    export: (spans, done) => {
      const text = spans.map(textOf).join('\n');
      exporter.export(clean(text) === text ? spans : spans.map(cleanSpan), done);
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

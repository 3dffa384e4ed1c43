/** What the GenAI conventions demand of a span, as far as OpenTelemetry's own package and document say. */
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import type { ReceivedSpan } from './otlp-receiver';

const values = Object.entries(conventions).flatMap(([name, value]) =>
  typeof value === 'string' ? [[name, value] as const] : [],
);

const attributeNames: ReadonlySet<string> = new Set(
  values.flatMap(([name, value]) =>
    name.startsWith('ATTR_') && value.startsWith('gen_ai.') ? [value] : [],
  ),
);

/** Names that the conventions replaced. */
const deprecated: ReadonlySet<string> = new Set([
  'gen_ai.system',
  'gen_ai.prompt',
  'gen_ai.completion',
  'gen_ai.usage.prompt_tokens',
  'gen_ai.usage.completion_tokens',
]);

/** Not in the conventions, which know no money; Langfuse and others read the cost of a call there. */
const beyond: ReadonlySet<string> = new Set(['gen_ai.usage.cost']);

/** SpanKind in OTLP. */
const kinds = { internal: 1, client: 3 } as const;

interface Demand {
  readonly kind: (typeof kinds)[keyof typeof kinds];
  readonly required: readonly string[];
  /** The attribute that stands in the span's name behind the operation. */
  readonly named: string;
}

/**
 * By operation. Source: the conventions' documents `gen-ai-spans.md` and `gen-ai-agent-spans.md`, requirement levels "Required"
 * and "Conditionally Required" where Holdfast has the value.
 */
const demands: Readonly<Record<string, Demand>> = {
  chat: {
    kind: kinds.client,
    required: [
      'gen_ai.provider.name',
      'gen_ai.request.model',
      'gen_ai.request.stream',
      'gen_ai.conversation.id',
    ],
    named: 'gen_ai.request.model',
  },
  execute_tool: {
    kind: kinds.internal,
    required: ['gen_ai.tool.name', 'gen_ai.tool.call.id'],
    named: 'gen_ai.tool.name',
  },
  invoke_agent: {
    kind: kinds.internal,
    required: ['gen_ai.provider.name', 'gen_ai.agent.name', 'gen_ai.conversation.id'],
    named: 'gen_ai.agent.name',
  },
};

/** Everything in which a span does not follow the conventions. */
export function conventionProblems(span: ReceivedSpan): readonly string[] {
  const { attributes, name, kind, status } = span;
  const problems = Object.keys(attributes)
    .filter((key) => key.startsWith('gen_ai.'))
    .filter((key) => (!attributeNames.has(key) || deprecated.has(key)) && !beyond.has(key))
    .map((key) => `${name}: ${key} is no attribute of the conventions`);
  if ((status.code === 2) !== 'error.type' in attributes && 'gen_ai.operation.name' in attributes)
    problems.push(`${name}: status ${status.code ?? 0} and error.type do not fit`);
  const operation = attributes['gen_ai.operation.name'];
  if (typeof operation !== 'string') return problems;
  const demand = demands[operation];
  if (demand === undefined) return [...problems, `${name}: unknown operation ${operation}`];
  for (const key of demand.required)
    if (attributes[key] === undefined || attributes[key] === '')
      problems.push(`${name}: ${key} is missing`);
  if (name !== `${operation} ${String(attributes[demand.named])}`)
    problems.push(`${name}: the name is not operation and ${demand.named}`);
  if (kind !== demand.kind) problems.push(`${name}: kind ${kind}`);
  return problems;
}

/** A recorded run as the source of a module for tests, without secrets. */
import { withoutSecrets } from '../../../activities/untrusted/known-secrets';
import type { JsonValue } from '../../../workflows/core/json';
import type { RecordedRun, RecordedStep } from '../recorded-run';
import { printableJson } from './printable';

/** Every text of a value without secrets. */
function clean(value: JsonValue): JsonValue {
  if (typeof value === 'string') return withoutSecrets(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(clean);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, clean(each)]));
}

const literal = (value: JsonValue): string => printableJson(clean(value));

function line(step: RecordedStep): string {
  switch (step.type) {
    case 'reply': {
      const { text, calls, isRefusal } = step;
      if (isRefusal) return `reply.refusal(${literal(text)}),`;
      if (calls.length === 0) return `reply.text(${literal(text)}),`;
      const said = text === '' ? '' : `, { text: ${literal(text)} }`;
      return `reply.toolCalls(${literal(calls)}${said}),`;
    }
    case 'approve':
      return `person.approve(${step.input === undefined ? '' : `{ input: ${literal(step.input)} }`}),`;
    case 'reject':
      return `person.reject(${literal(step.reason)}),`;
    case 'answer':
    case 'say':
      return `person.${step.type}(${literal(step.text)}),`;
    case 'comment':
      return `// ${step.text}`;
  }
}

/** The module's source: `request` and `script` for `run` of `testAgent`. */
export function scriptSource(runId: string, { request, steps, hasContext }: RecordedRun): string {
  const imports = steps.some(({ type }) => !['reply', 'comment'].includes(type))
    ? 'person, reply'
    : 'reply';
  return [
    `// Recorded by \`holdfast record ${withoutSecrets(runId)}\`. Secrets of known shapes are removed; read it for other data that a test must not keep.`,
    `import { ${imports} } from 'holdfast/testing';`,
    '',
    `/** For the agent ${literal(request.agent)}. */`,
    ...(hasContext ? ['// The run had a context, which is not recorded: add `context`.'] : []),
    `export const request = { goal: ${literal(request.goal)} };`,
    '',
    'export const script = [',
    ...steps.map((step) => `  ${line(step)}`),
    '];',
    '',
  ].join('\n');
}

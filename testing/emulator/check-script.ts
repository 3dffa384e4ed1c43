/** Checks scripts where they are given, for authors who write plain JavaScript: a wrong step must not wait for its request. */
import { inspect } from 'node:util';
import { z } from 'zod';
import { checkOptions } from '../../activities/lifecycle/check-options';
import { UserError } from '../../activities/lifecycle/user-error';
import { shortened } from '../../workflows/core/shortened';
import type { Step } from './faults';

const text = z.string();
const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text }),
  z.object({ type: z.literal('reasoning'), text, redacted: z.boolean().optional() }),
  z.object({ type: z.literal('refusal'), text }),
  z.object({
    type: z.literal('tool-call'),
    name: text.optional(),
    argumentsText: text,
    id: text.optional(),
  }),
]);
const stop = z.enum([
  'end',
  'tool-use',
  'max-tokens',
  'pause',
  'content-filter',
  'refusal',
  'context-window',
]);
const bytes = z.int().min(1).optional();
const milliseconds = z.number().min(0).optional();
const replyShape = z.strictObject({
  type: z.literal('reply'),
  parts: z.array(part),
  stop,
  usage: z.record(z.string(), z.number()).optional(),
  charactersPerDelta: z.int().min(1),
  delivery: z.strictObject({
    headersAfterMs: milliseconds,
    crlf: z.boolean().optional(),
    bytesPerWrite: bytes,
    writeEveryMs: milliseconds,
  }),
  model: text.optional(),
});

/** Characters of a value that an error shows. */
const shownChars = 120;
/** Characters of a step's text that an error shows. */
const textChars = 60;

/** A value as an error shows it. */
export function shownValue(value: unknown): string {
  return shortened(inspect(value, { depth: 1, breakLength: Infinity }), shownChars);
}

/** What is wrong with a step of an emulator's script; undefined for a step. */
export function stepProblem(step: unknown): string | undefined {
  const given = `${shownValue(step)} is not a step`;
  const remedy = 'give what reply.text(…), reply.toolCalls([…]) or a builder of fault returned';
  if (typeof step === 'function') return `${given}, but a function: call it, or ${remedy}`;
  const { type, plan } = { ...(step as Readonly<Record<string, unknown>>) };
  if (type === 'fault' && typeof plan === 'function') return undefined;
  if (type === 'person' || type === 'tool-fault')
    return `${given} of a request: people and tools are scripted with run() of testAgent`;
  if (type !== 'reply') return `${given}: ${remedy}`;
  const parsed = replyShape.safeParse(step);
  if (parsed.success) return undefined;
  const [issue] = parsed.error.issues;
  return `${given}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}; ${remedy}`;
}

const streamFaultShape = z.strictObject({
  during: z.unknown().optional(),
  afterEvents: z.int().min(0).optional(),
  afterCharacters: z.int().min(0).optional(),
  afterText: text.optional(),
  beforeClosing: z.boolean().optional(),
});

/** Throws `UserError` for options that place no fault in a stream. */
export function checkStreamFault(name: string, options: unknown): void {
  const remedy =
    'Say where it strikes: { during, afterEvents }, { during, afterCharacters }, { during, afterText } or { during, beforeClosing }.';
  checkOptions('fault', name, streamFaultShape, options, remedy);
}

const httpFaultShape = z.strictObject({
  headers: z.record(z.string(), z.string()).optional(),
  body: z.unknown().optional(),
  bodyText: text.optional(),
  error: z.record(z.string(), z.unknown()).optional(),
  delayMs: milliseconds,
});

/** Throws `UserError` for what is no answer with an error. */
export function checkHttpFault(status: unknown, options: unknown): void {
  if (!Number.isInteger(status) || Number(status) < 300 || Number(status) > 599)
    throw new UserError(
      `fault.http: the status is ${shownValue(status)}: give a number from 300 to 599; fault.raw(…) answers with any other.`,
    );
  const known = Object.keys(httpFaultShape.shape).join(', ');
  checkOptions('fault.http', '', httpFaultShape, options, `Known options: ${known}.`);
}

/** Throws `UserError` for calls that cannot be sent. */
export function checkCalls(calls: unknown): void {
  checkOptions(
    'reply.toolCalls',
    'calls',
    z.array(
      z.strictObject({
        name: text,
        input: z.record(z.string(), z.unknown()),
        id: text.optional(),
      }),
    ),
    calls,
    'Give an array such as [{ name, input }]; reply.rawToolArguments(…) sends what is none.',
  );
}

/** Throws `UserError` that names the script, each step that is none, and the remedy. */
export function checkScript(
  where: string,
  script: unknown,
  problemOf: (step: unknown) => string | undefined = stepProblem,
): void {
  if (typeof script === 'function') return;
  if (!Array.isArray(script))
    throw new UserError(
      `${where}: the script is ${shownValue(script)}: give an array of steps, such as [reply.text('Done.')], or a function that gives the step for each request.`,
    );
  const problems = script.flatMap((step: unknown, index) => {
    const problem = problemOf(step);
    return problem === undefined ? [] : [`step ${index + 1}: ${problem}`];
  });
  if (problems.length > 0) throw new UserError(`${where}: ${problems.join('; ')}.`);
}

const optionsShape = z.strictObject({
  windows: z.record(z.string(), z.int().min(1)).optional(),
  recordedBodyBytes: z.int().min(0).optional(),
  seed: text.optional(),
  cutReplies: z.enum(['sent', 'whole']).optional(),
  servers: z
    .record(
      z.string(),
      z.enum(['mistral', 'kimi', 'deepseek', 'gemini', 'ollama', 'vllm', 'vllm-mistral']),
    )
    .optional(),
  vendor: text.optional(),
});

/** Throws `UserError` for options that an emulator has not, or cannot follow. */
export function checkEmulatorOptions(options: unknown): void {
  checkOptions('VendorEmulator.start', '', optionsShape, options);
}

const keyShape = z.strictObject({
  model: text.optional(),
  wire: z.enum(['anthropic', 'responses', 'chat']).optional(),
  mount: text.optional(),
});

/** Throws `UserError` for a key by which no request can be told. */
export function checkScriptKey(key: unknown): void {
  checkOptions(
    'VendorEmulator.script',
    'key',
    keyShape,
    key,
    'Give { model, wire, mount } or a part of them.',
  );
}

/** A step, by its kind alone. */
export function nameStep(step: Step): string {
  if (step.type === 'fault') return step.name;
  const calls = step.parts.flatMap((each) => (each.type === 'tool-call' ? [each.name ?? '?'] : []));
  return calls.length > 0 ? `reply (calls ${calls.join(', ')})` : `reply (${step.stop})`;
}

/** A step with the beginning of its text: `reply (end): "Done."`. */
export function describeStep(step: Step): string {
  const said =
    step.type === 'reply' ? step.parts.find((each) => each.type === 'text')?.text : undefined;
  return said === undefined
    ? nameStep(step)
    : `${nameStep(step)}: ${JSON.stringify(shortened(said, textChars))}`;
}

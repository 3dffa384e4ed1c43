/** Labeled traces of tool calls with their results, as `traces.jsonl` holds them: one trace a line, rounds written once. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { AgentError } from '../../../workflows/core/failure';
import type { JsonObject, JsonValue } from '../../../workflows/core/json';

/** Lines of a file that a reading tool gave; `from` and `count` may be counted with the round. */
const linesSchema = z.strictObject({ file: z.string(), from: z.string(), count: z.string() });

const callSchema = z.strictObject({
  tool: z.string(),
  args: z.record(z.string(), z.json()),
  result: z.union([z.string(), linesSchema]).optional(),
  error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
  /** What a failed call gave besides its error. */
  output: z.string().optional(),
});

const traceSchema = z.strictObject({
  id: z.string(),
  label: z.enum(['loop', 'polling', 'outage']),
  /** Where such a trace was reported, or what it stands for. */
  source: z.string(),
  tools: z.array(
    z.strictObject({
      name: z.string(),
      effect: z.enum(['read', 'keyed', 'irreversible']).optional(),
      label: z.string().optional(),
      cosmetic: z.array(z.string()).optional(),
      editsFile: z.string().optional(),
    }),
  ),
  /** `{name}` in a text is this round's entry of the list. */
  lists: z.record(z.string(), z.array(z.string())).default({}),
  blocks: z.array(
    z.strictObject({ times: z.number().int().min(1), replies: z.array(z.array(callSchema)) }),
  ),
});

/** A trace as it is written. */
export type CallTrace = z.infer<typeof traceSchema>;
type WrittenCall = z.infer<typeof callSchema>;

/** One call of a trace, spelled out. */
export interface TracedCall {
  readonly tool: string;
  readonly input: JsonObject;
  readonly result:
    | { readonly type: 'output'; readonly text: string }
    | {
        readonly type: 'error';
        readonly error: AgentError;
        readonly output: string;
      };
}

/** A text with `{n}`, `{n*5}`, `{n*5+1}` counted out for round `n`, and `{name}` taken from the lists. */
function spelled(text: string, round: number, { lists }: CallTrace): string {
  return text.replace(/\{(\w+)(?:\*(\d+))?(?:\+(\d+))?\}/g, (whole, name: string, ...rest) => {
    const [factor, offset] = rest as (string | undefined)[];
    if (name === 'n') return String(round * Number(factor ?? 1) + Number(offset ?? 0));
    const list = lists[name];
    return list === undefined ? whole : (list[(round - 1) % list.length] ?? whole);
  });
}

/** `"#{n*5}"` becomes the number. */
function spelledValue(value: JsonValue, round: number, trace: CallTrace): JsonValue {
  if (typeof value === 'string') {
    const text = spelled(value, round, trace);
    return /^#\d+$/.test(text) ? Number(text.slice(1)) : text;
  }
  if (Array.isArray(value)) return value.map((item: JsonValue) => spelledValue(item, round, trace));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, spelledValue(item, round, trace)]),
    );
  return value;
}

/** Text of made-up lines that are the same whenever they are read. */
function linesOf(file: string, from: number, count: number): string {
  return Array.from(
    { length: count },
    (_, index) => `${from + index}: line ${from + index} of ${file} says ${(from + index) * 7919}`,
  ).join('\n');
}

function resultOf(call: WrittenCall, round: number, trace: CallTrace): TracedCall['result'] {
  const text = (written: string): string => spelled(written, round, trace);
  if (call.error !== undefined)
    return {
      type: 'error',
      error: {
        kind: 'agent',
        code: call.error.code as AgentError['code'],
        message: text(call.error.message),
        recoverable: true,
        toolName: call.tool,
      },
      output: text(call.output ?? ''),
    };
  const { result = '' } = call;
  if (typeof result === 'string') return { type: 'output', text: text(result) };
  const lines = linesOf(result.file, Number(text(result.from)), Number(text(result.count)));
  return { type: 'output', text: lines };
}

/** The replies of a trace, call by call. */
export function* repliesOf(trace: CallTrace): Generator<readonly TracedCall[], void> {
  for (const { times, replies } of trace.blocks)
    for (let round = 1; round <= times; round += 1)
      for (const reply of replies)
        yield reply.map((call) => ({
          tool: call.tool,
          input: spelledValue(call.args, round, trace) as JsonObject,
          result: resultOf(call, round, trace),
        }));
}

/** Read where it lies in the repository: npm runs scripts at its root. */
const traceFile = path.resolve('bench/scorecard/loops/traces.jsonl');

/**
 * Reads every trace of a file; of the section's own where none is given.
 *
 * Errors: throws on a line that is no trace, and on an id that is there twice.
 */
export function readCallTraces(file = traceFile): readonly CallTrace[] {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const traces = lines.map((line) => traceSchema.parse(JSON.parse(line)));
  const ids = new Set(traces.map(({ id }) => id));
  if (ids.size < traces.length) throw new Error(`An id is there twice in ${file}.`);
  return traces;
}

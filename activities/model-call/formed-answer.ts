/** Reads the answer of a run whose output has a schema out of the text of a reply. */
import { answerBytes } from '../../workflows/core/limits';
import type { JsonObject } from '../../workflows/core/json';
import { withoutFilledNulls } from '../providers/request/strict-schema';
import type { ToolsOfRun } from '../tool-call/tool-of-run';
import { thisWorker } from '../lifecycle/worker-identity';
import { InfraException } from '../lifecycle/infra-exception';
import type { Tool } from '../tools/tool';
import { isJsonObject } from '../tools/input-schema';
import { objectsInText } from '../untrusted/json-in-text';

/** An answer, or what is wrong with it. */
export type FormedAnswer =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problems: readonly string[]; readonly hint?: string };

/** The input of a form as its author's schema takes it: without nulls for what a vendor had to require. */
export function withoutNullsOf({ inputSchema }: Tool, input: JsonObject): JsonObject {
  const value = withoutFilledNulls(input, inputSchema);
  return isJsonObject(value) ? value : input;
}

const tooLong: FormedAnswer = {
  ok: false,
  problems: [`The answer has more than ${answerBytes} bytes of JSON`],
  hint: 'Answer with less text; put long material into a file.',
};

/**
 * The first object of a text that fits the agent's output schema, also within words or a fence; else what is wrong with the first.
 *
 * Errors: `worker_mismatch` if this worker's agent has no such schema; another worker takes the task.
 */
export function formedAnswer(text: string, { agent }: Pick<ToolsOfRun, 'agent'>): FormedAnswer {
  const form = agent.answer;
  if (form === undefined)
    throw new InfraException({
      code: 'worker_mismatch',
      message: `${thisWorker()} has no output schema for the answers of agent "${agent.name}", with which this run was started. Deploy a worker that has it.`,
    });
  let first: FormedAnswer | undefined;
  for (const found of objectsInText(text)) {
    // It came from JSON.
    const value = withoutNullsOf(form, found as JsonObject);
    const { ok, ...read } = form.parse(value);
    if (ok) return Buffer.byteLength(JSON.stringify(value)) > answerBytes ? tooLong : { ok, value };
    if ('problems' in read) first ??= { ok: false, ...read };
  }
  return first ?? { ok: false, problems: ['The answer is not a JSON object'] };
}

/** Identity of a tool call's result: whether it brought something new, and whether the tool's own service was down. */
import { normalizeResult, shortHash } from '../../workflows/core/errors/fingerprint';
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import type { ResultIdentity } from '../../workflows/core/tools/ports';
import { contentHash } from '../stores/content-hash';
import { commandOf, movesWindow } from './call-likeness';
import { isOnlyEcho } from './command-text';
import { isStatusOfOutage, mentionsOutage } from '../tool-call/outage';
import { reportsFailure } from '../tool-output/reported-failure';
import type { FinishedExecution } from '../tool-call/tool-execution';
import type { Tool } from '../tools/tool';

/** Characters up to which a result is normalized as a whole; of a longer one, head, tail, and a hash of the rest count. */
const wholeChars = 65_536;

/** Characters of head and of tail that are normalized of a longer result. */
const endChars = 8_192;

/** Lines whose hashes are kept of a result (bottom-k sketch, ADR 0019), and the fewest lines that make one worth while. */
const sketchLines = 12;
const fewestLines = 5;

/** An output of `run_command` or a similar tool for a command that failed. */
const failedCommand = /^\s*(?:exit code|exited with(?: code)?|exit status):? (?!0\b)\d/i;

/** Characters of an output that is searched for the signs of an outage. */
const searchedChars = 2_000;

/** Characters up to which an output in words is nothing but a message; a longer one may only discuss errors. */
const messageChars = 300;

/** Whether an output is an error's message, in words or as JSON, that mentions an outage. */
function reportsOutage(text: string): boolean {
  const isMessage = text.length <= messageChars || /^\s*\{/.test(text);
  return isMessage && reportsFailure(text) && mentionsOutage(text);
}

function isOutage(execution: FinishedExecution, input: JsonObject): boolean {
  if (execution.type === 'error') {
    const { code, message } = execution.error;
    if (code === 'rate_limit' || code === 'tool_timeout') return true;
    return mentionsOutage(`${message}\n${(execution.output ?? '').slice(0, searchedChars)}`);
  }
  const head = execution.text.slice(0, searchedChars);
  if (failedCommand.test(head)) return mentionsOutage(head);
  if (execution.text.length > searchedChars) return false;
  return isStatusOfOutage(head) || (commandOf(input) === undefined && reportsOutage(head));
}

function textOf(execution: FinishedExecution): string {
  return execution.type === 'output'
    ? execution.text
    : `${execution.error.code} ${execution.error.message}\n${execution.output ?? ''}`;
}

function identityOfText(text: string): string {
  if (text.length <= wholeChars) return shortHash(normalizeResult(text));
  const ends = `${text.slice(0, endChars)} ${text.slice(-endChars)}`;
  return shortHash(`${normalizeResult(ends)} ${shortHash(text.replace(/\d+/g, ''))}`);
}

/** Line numbers that reading tools put before each line. */
const lineNumber = /^\s*\d{1,9}\s*[|:→\t]/;

function sketchOf(text: string): readonly string[] | undefined {
  const lines = text.slice(0, wholeChars * 4).split('\n');
  const hashes = new Set(lines.map((line) => line.replace(lineNumber, '').trim()).map(shortHash));
  return hashes.size < fewestLines ? undefined : [...hashes].sort().slice(0, sketchLines);
}

/**
 * What the loop detector must know about a result.
 *
 * Contract: pure and bounded; hashes only, no text.
 */
export function resultIdentityOf(
  tool: Tool,
  input: JsonObject,
  execution: FinishedExecution,
): ResultIdentity {
  const text = textOf(execution);
  const said = isOnlyEcho(commandOf(input) ?? '') ? text.replace(/\d+/g, '0') : text;
  const isPart = execution.type === 'output' && movesWindow(tool, input);
  const sketch = isPart ? sketchOf(text) : undefined;
  const media = (execution.type === 'output' ? (execution.media ?? []) : []).map(({ content }) =>
    contentHash(content),
  );
  const identity = identityOfText(said);
  return {
    // The text only says how large an image is: two screens of one size are not the same result.
    fingerprint: media.length === 0 ? identity : shortHash([identity, ...media].join('\n')),
    ...defined({ sketch }),
    ...(isOutage(execution, input) ? { outage: true } : {}),
  };
}

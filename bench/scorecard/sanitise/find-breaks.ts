/** Finds what got through: secrets in any text, and text of a tool, a vendor or a person that left its place in a prompt. */
import { stripHidden } from '../../../workflows/core/secrets/hidden-characters';
import type { RecordedRequest } from '../../../testing/emulator/recorded-request';
import { defaultHint } from '../../../workflows/core/errors/tool-response';
import { nextCallQuestion } from '../../../activities/providers/request/text-tool-protocol';
import { noteProvenance } from '../../../workflows/core/model-call/next-request';
import { authorHint } from './sanitise-stage';

/** Everything that looks like a tag of a fence to a model that reads loosely. */
const fenceTag = /[<＜‹〈﹤]\s*\/?\s*tool[\s_-]*output/giu;
const fenced =
  /^<tool_output tool="[\w-]+" fence="([0-9a-f]{16})">\n([^]*)\n<\/tool_output fence="([0-9a-f]{16})">$/;

/** What is wrong with a fenced text; undefined where nothing is. */
function fenceProblem(text: string): string | undefined {
  const [, opened, inside = '', closed] = fenced.exec(text) ?? [];
  if (opened === undefined || opened !== closed) return 'is not one whole fence';
  if (inside.match(fenceTag) !== null) return 'holds a tag of a fence inside';
  return inside.includes(opened) ? 'holds its own code inside' : undefined;
}

/** Hints that the runtime makes of the tools' own definitions (activities/knowledge). */
const definitionHints =
  /^(?:Other tools for the same purpose: [\w, ]+\.|"place" is [\w ]+\.|Always pass "place"\.)$/;

function isTrustedHint(hint: unknown): boolean {
  return (
    hint === authorHint ||
    hint === defaultHint ||
    (typeof hint === 'string' && definitionHints.test(hint))
  );
}

/** Decides which hints of an error may be read as advice. */
type HintRule = (hint: unknown) => boolean;

function isErrorJson(line: string, isTrusted: HintRule): boolean {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return false;
    const { hint } = value as { hint?: unknown };
    return (
      Object.keys(value).sort().join() === 'code,error,hint,message,recoverable' && isTrusted(hint)
    );
  } catch {
    return false;
  }
}

/** What is wrong with a tool's result as the model reads it. */
export function resultProblem(
  content: string,
  isTrusted: HintRule = isTrustedHint,
): string | undefined {
  if (stripHidden(content) !== content) return 'holds hidden characters';
  if (!content.startsWith('{"error":true')) return fenceProblem(content);
  const lineEnd = content.indexOf('\n');
  const line = lineEnd < 0 ? content : content.slice(0, lineEnd);
  if (!isErrorJson(line, isTrusted)) return 'is an error with more than the runtime said';
  return lineEnd < 0 ? undefined : fenceProblem(content.slice(lineEnd + 1));
}

/** What is wrong with the runtime's note: whatever begins a line there speaks for the runtime. */
export function noteProblem(note: string, isTrusted: HintRule = isTrustedHint): string | undefined {
  if (stripHidden(note) !== note) return 'holds hidden characters';
  const lines = note.split(/[\n\r\u2028\u2029\u0085\v\f]/);
  if (lines.filter((line) => line.startsWith(noteProvenance)).length !== 1)
    return 'speaks for the runtime more than once';
  const hints = lines.filter((line) => line.startsWith('Hint:'));
  return hints.some((line) => !isTrusted(line.slice('Hint: '.length)))
    ? 'holds a foreign hint'
    : undefined;
}

function userTextProblem(text: string, isTrusted: HintRule): string | undefined {
  const at = text.indexOf(noteProvenance);
  if (text.startsWith('Result of tool ')) {
    const asked = `\n${nextCallQuestion([])}`;
    const result = text.endsWith(asked)
      ? text.slice(0, -asked.length).replace(/\nKeep in mind: [^\n]*\n$/, '')
      : text;
    return resultProblem(result.slice(result.indexOf('\n') + 1), isTrusted);
  }
  if (at === 0) return noteProblem(text, isTrusted);
  return stripHidden(text) === text ? undefined : 'holds hidden characters';
}

/** All breaks in one request. */
export function requestProblems(
  request: RecordedRequest,
  isTrusted: HintRule = isTrustedHint,
): readonly string[] {
  return request.conversation.turns.flatMap((turn) => [
    ...turn.toolResults.flatMap(({ content }) => resultProblem(content, isTrusted) ?? []),
    ...(turn.role === 'user' ? [userTextProblem(turn.text, isTrusted)] : []).flatMap(
      (problem) => problem ?? [],
    ),
  ]);
}

/** All texts in a value: strings, and bytes as UTF-8, however deep. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('utf8')];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** Secrets of an input that stand in a text, also where JSON wrote it. */
export function leakedIn(text: string, secrets: readonly string[]): readonly string[] {
  return secrets.filter((secret) => text.includes(secret));
}

/** True if a text of the runtime holds what a person would not see, raw or as JSON spells it. */
export function holdsHidden(text: string): boolean {
  const plain = text.replace(/\\u([0-9a-f]{4})/gi, (_whole, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  return stripHidden(plain) !== plain.replace(/\r\n?|[\u2028\u2029\u0085\v\f]/g, '\n');
}

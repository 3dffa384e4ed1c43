/** Fences text of others for the model: nothing in it can open or close a tag of ours. The one place that knows them (ADR 0044). */

/** Names of the tags that the runtime writes. */
const tagNames = ['tool_output', 'tool_error'] as const;

/** `<`, as it is, by a lookalike, or in another spelling: an entity (escaped again and again), an escape of JSON, percent. */
const opening =
  '(?:[<＜‹〈﹤⟨〈≺˂]|&(?:amp;|#0{0,6}38;|#x0{0,6}26;){0,8}(?:lt|#0{0,6}60|#x0{0,6}3c);?|\\\\{1,8}(?:u003c|x3c|74)|%(?:25){0,8}3c)';
const slash =
  '(?:[/\\\\／∕⁄╱]|&(?:amp;|#0{0,6}38;|#x0{0,6}26;){0,8}(?:sol|#0{0,6}47|#x0{0,6}2f);?|\\\\{1,8}(?:u002f|x2f|/)|%(?:25){0,8}2f)';
const blank = '[\\s_\\-‐-―＿－]';

/** A letter of a name, also in full width; with `i` and `u` both in either case. */
const wide = (letter: string): string =>
  `[${letter}${String.fromCharCode(letter.charCodeAt(0) + 0xfee0)}]`;
const spelled = (name: string): string =>
  name
    .split('_')
    .map((word) => Array.from(word, wide).join(''))
    .join(`${blank}{0,4}`);

const tagLike = new RegExp(
  `${opening}\\s{0,8}(${slash}{0,3})\\s{0,8}(${tagNames.map(spelled).join('|')})`,
  'giu',
);

/**
 * A text in which nothing is, or reads like, a tag of ours: its bracket becomes a round one. Everything else stays as it is, so
 * that code and markup reach the model unchanged, and nothing is escaped that could be escaped twice.
 *
 * Contract: pure and idempotent.
 */
export function inertTags(text: string): string {
  return text.replace(tagLike, '($1$2');
}

/** Line ends of every kind, with the blanks round them. */
const lineEnd = /(?<!\s)\s*[\r\n\u2028\u2029\u0085\v\f]\s*/g;

/** A text of others on one line, so that only the runtime can begin a line, with no tag of ours. */
export function inertLine(text: string): string {
  return inertTags(text.trim().replace(lineEnd, ' | '));
}

/** A line about an error in the words of others, as data. */
export function fencedError(line: string, toolName?: string): string {
  const tool = toolName === undefined ? '' : ` tool="${toolName.replace(/[^\w-]/g, '_')}"`;
  return `<tool_error${tool}>\n${inertLine(line)}\n</tool_error>`;
}

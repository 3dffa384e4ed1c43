/** Which tools serve the same purpose, read off their names, descriptions and parameters. */
import { isJsonObject } from '../tools/input-schema';
import type { KnownTool } from '../definitions/tool-knowledge';

/** What a tool does, by the words that say it. */
const deeds: readonly (readonly [string, readonly string[]])[] = [
  [
    'read',
    'read get fetch open cat view show load retrieve download print display inspect'.split(' '),
  ],
  ['find', 'search find grep lookup query locate list browse glob scan'.split(' ')],
  [
    'change',
    'write edit update patch modify replace create save put insert append set change'.split(' '),
  ],
  ['delete', 'delete remove drop clear purge erase'.split(' ')],
  ['run', 'run exec execute shell command invoke'.split(' ')],
  ['send', 'send post notify publish email mail message'.split(' ')],
  ['compute', 'calculate compute evaluate eval convert translate'.split(' ')],
];

/** Words that tell nothing of a purpose. */
const empty = new Set(
  'a an and the of in on for to with by from or as at is are be it its this that these those one all any each use uses used using when where which what you your can will not no only than then into out up new if tool tools call calls return returns give gives given take takes name names value values text string number optional required default true false primary backup secondary main other alternative fallback via api v1 v2 v3'.split(
    ' ',
  ),
);

function stem(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (/(?:ch|sh|ss|x)es$/.test(word)) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith('s') && !word.endsWith('ss')) return word.slice(0, -1);
  return word;
}

function wordsOf(text: string): readonly string[] {
  return text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word.length > 1)
    .map(stem);
}

interface Purpose {
  readonly deed: string | undefined;
  readonly subject: ReadonlySet<string>;
}

function deedIn(words: readonly string[]): string | undefined {
  for (const word of words) {
    const deed = deeds.find(([, names]) => names.some((name) => stem(name) === word));
    if (deed !== undefined) return deed[0];
  }
  return undefined;
}

const deedWords = new Set(deeds.flatMap(([, names]) => names.map(stem)));

function isSubject(word: string): boolean {
  return !deedWords.has(word) && !empty.has(word) && !/^\d+$/.test(word);
}

function purposeOf({ name, description, inputSchema }: KnownTool): Purpose {
  const named = wordsOf(name);
  const [firstSentence = ''] = description.split(/[.;\n]/);
  const said = wordsOf(firstSentence);
  const properties = isJsonObject(inputSchema['properties']) ? inputSchema['properties'] : {};
  const parameters = Object.keys(properties).flatMap(wordsOf);
  return {
    deed: deedIn(named) ?? deedIn(said),
    subject: new Set([...named, ...said, ...parameters].filter(isSubject)),
  };
}

function overlap(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const shared = [...left].filter((word) => right.has(word)).length;
  const smaller = Math.min(left.size, right.size);
  return smaller === 0 ? 0 : shared / smaller;
}

/** Share of the subject that two tools of the same deed must share (ADR 0027). */
const sharedSubject = 0.5;

/** Reading may be replaced by reading only: an alternative must not do more to the world. */
function isSafe(tool: KnownTool, other: KnownTool): boolean {
  return tool.effect !== 'read' || other.effect === 'read';
}

/** Tools that serve the same purpose as one, best first. */
export function alternativesOf(tool: KnownTool, tools: readonly KnownTool[]): readonly string[] {
  const purpose = purposeOf(tool);
  return tools
    .filter((other) => other.name !== tool.name && isSafe(tool, other))
    .map((other) => {
      const { deed, subject } = purposeOf(other);
      const isSameDeed = deed === purpose.deed;
      return { name: other.name, share: isSameDeed ? overlap(purpose.subject, subject) : 0 };
    })
    .filter(({ share }) => share >= sharedSubject)
    .sort((left, right) => right.share - left.share || (left.name < right.name ? -1 : 1))
    .map(({ name }) => name);
}

/** A tool that finds what another one's paths name. */
export function finderOf(tools: readonly KnownTool[]): string | undefined {
  const finders = tools.filter((tool) => {
    const { deed, subject } = purposeOf(tool);
    return (
      deed === 'find' && ['file', 'path', 'directory', 'folder'].some((word) => subject.has(word))
    );
  });
  return (finders.find(({ name }) => /search|find|grep/i.test(name)) ?? finders[0])?.name;
}

/** Edits that turn one name into the other, up to a bound. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let line = 0; line < left.length; line += 1) {
    const character = left[line];
    const next = [line + 1];
    for (let column = 1; column <= right.length; column += 1) {
      const same = right[column - 1] === character ? 0 : 1;
      next.push(
        Math.min(
          (row[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          (row[column - 1] ?? 0) + same,
        ),
      );
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** Characters of a name that is compared. */
const nameChars = 64;

/** The tool that was meant by a name that no tool has: spelt nearly so, or of the same words. */
export function meantTool(name: string, tools: readonly string[]): string | undefined {
  const asked = name.slice(0, nameChars).toLowerCase();
  const deedsOf = (words: readonly string[]): ReadonlySet<string> =>
    new Set(words.map((word) => deedIn([word]) ?? word));
  const said = wordsOf(asked);
  const ranked = tools
    .map((tool) => {
      const words = wordsOf(tool);
      const apart = distance(asked, tool.toLowerCase()) / Math.max(asked.length, tool.length, 1);
      const byWords = overlap(new Set(said), new Set(words)) * 0.95;
      const byDeeds = overlap(deedsOf(said), deedsOf(words)) * 0.9;
      return { tool, closeness: Math.max(1 - apart, byWords, byDeeds) };
    })
    .sort((left, right) => right.closeness - left.closeness);
  const [best, next] = ranked;
  const isClear = best !== undefined && best.closeness > (next?.closeness ?? 0);
  return isClear && best.closeness >= 0.7 ? best.tool : undefined;
}

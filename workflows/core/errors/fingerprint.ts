/** Normalizes and hashes text, so that a clock, an id or a counter in it cannot make equal things look different. */
import type { JsonObject } from '../json';

const raw = String.raw;

/** Words after which a number says which error it is. Such numbers stay. */
const codeWord = '(?:code|status|http|errno|error|exit|exited|signal|hresult)';

/** Words after which a number only counts, or names a moment, a process or a try. */
const counterWord = [
  'attempts?|retry|retries|try|tries|iteration|invocation|call|request|req|seq|sequence|counter|count|tick|nonce|epoch',
  'timestamp|uptime|elapsed|pid|tid|process|thread|worker|session|connection|conn|transaction|tx|trace|span|job|build|event',
].join('|');

const month = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}';
const weekday = '(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? )?';
const clock = raw`\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?`;
const zone = raw`(?: ?(?:z|utc|gmt|[+-]\d{2}:?\d{2})\b)?`;

/** One row of a table: what it finds, how, and the replacement. */
type VolatilePart = readonly [what: string, pattern: RegExp, placeholder: string];

/** Rows that have the same replacement, by what each finds. */
function rows(placeholder: string, patterns: Readonly<Record<string, RegExp>>): VolatilePart[] {
  return Object.entries(patterns).map(([what, pattern]) => [what, pattern, placeholder]);
}

const insensitive = (pattern: string): RegExp => new RegExp(pattern, 'gi');

const times = rows('<time>', {
  'ISO date, with or without time': insensitive(
    raw`\b\d{4}[-/]\d{2}[-/]\d{2}(?:[t ]${clock}|[t ]\d{2}:\d{2})?${zone}`,
  ),
  'day, month, year': insensitive(
    raw`\b${weekday}\d{1,2}[ -]${month}[ -]\d{4}(?:,? ${clock})?${zone}`,
  ),
  'month, day, year': insensitive(
    raw`\b${weekday}${month} \d{1,2},? (?:${clock}${zone} )?\d{4}(?:,? ${clock})?${zone}`,
  ),
  'date with slashes': insensitive(raw`\b\d{1,2}/\d{1,2}/\d{4}(?:,? ${clock})?`),
  'time with seconds': insensitive(raw`\b${clock}(?: ?[ap]m\b)?${zone}`),
  'time with am or pm': /\b\d{1,2}:\d{2} ?[ap]m\b/gi,
  'time after "at"': /(?<=\bat )\d{1,2}:\d{2}\b(?!:)/gi,
});

/** Temporary directories: the first name below them is random, deeper ones are not. */
const temporaryPaths = rows('<tmp>', {
  'temporary folder of macOS':
    /(?:\/private)?\/var\/folders\/[^\s/'"`]{1,100}\/[^\s/'"`]{1,100}\/T\/[^\s/'"`:]{1,200}/g,
  'folder in /tmp': /(?<![\w.])(?:\/private|\/var)?\/tmp\/[^\s/'"`:]{1,200}(?=\/)/g,
  'random file in /tmp':
    /(?<![\w.])(?:\/private|\/var)?\/tmp\/(?=[^\s/'"`:]{0,100}(?:\d|[-_.][A-Za-z0-9]{6}\b))[^\s/'"`:]{1,200}/g,
  'temporary folder of Windows':
    /\b[A-Za-z]:\\(?:[^\s\\'"`]{1,100}\\){1,8}Te?mp\\[^\s\\'"`:]{1,200}/g,
});

const uuid = rows('<id>', {
  UUID: /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
});

const ids = rows('<id>', {
  'id with a prefix: a name, then at least 8 characters with a digit and a letter':
    /\b[a-z]{1,20}[_-](?=[a-z]{0,80}\d)(?=\d{0,80}[a-z])[0-9a-z]{8,80}\b/gi,
  'base62: a digit and letters of both cases':
    /\b(?=[A-Za-z]{0,64}\d)(?=[0-9a-z]{0,64}[A-Z])(?=[0-9A-Z]{0,64}[a-z])[0-9A-Za-z]{16,64}\b/g,
  'ULID: digits and capitals': /\b(?=[A-Z]{0,26}\d)[0-9A-Z]{26}\b/g,
  'hash in hexadecimal': /\b(?=\d{0,128}[a-f])(?=[a-f]{0,128}\d)[0-9a-f]{7,128}\b/gi,
});

const addresses = rows('<address>', {
  'address in memory, unless it is an error code': insensitive(
    raw`(?<!\b${codeWord}[ :=#(]{1,3})\b0x[0-9a-f]{1,16}\b`,
  ),
  IPv4: /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g,
  IPv6: /(?<![\w:])(?=[a-f:]{0,40}\d)(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{1,4}\b/gi,
  'shortened IPv6': /(?<![\w:])(?=[a-f:]{0,40}\d)[0-9a-f]{0,4}::(?:[0-9a-f]{1,4}:?){1,6}(?!\w)/gi,
  'identity of an object': /(?<=@)[0-9a-f]{6,16}\b/gi,
});

/** Separate numbers: not part of a name, path, version, or decimal. */
const alone = raw`(?<![\w./-])`;
const aloneEnd = raw`(?![\w/]|[.-]\w)`;
const number = raw`\d{1,20}(?:[.,]\d{1,20})?`;
const unit =
  '(?:ns|µs|us|ms|s|m|h|mins?|secs?|hrs?|(?:milli|micro|nano)?seconds?|minutes?|hours?|days?)';

const duration: VolatilePart = [
  'duration',
  insensitive(raw`${alone}${number} ?${unit}${aloneEnd}`),
  '<duration>',
];

const counters: readonly VolatilePart[] = [
  ['port of localhost', /(?<=\blocalhost):\d{1,5}\b/gi, ':<n>'],
  // RFC 6335 from 49152, Linux from 32768.
  ['port that the system hands out', /(?<=\bport )(?:3[2-9]\d{3}|[456]\d{4})\b/gi, '<n>'],
  duration,
  ['percentage', new RegExp(raw`${alone}${number} ?%`, 'g'), '<n>%'],
  ['fraction', new RegExp(raw`${alone}\d{1,20} ?/ ?\d{1,20}${aloneEnd}`, 'g'), '<n>/<n>'],
  ['n of m', insensitive(raw`${alone}\d{1,20} of \d{1,20}${aloneEnd}`), '<n> of <n>'],
  ...rows('<n>', {
    'number of attempts': insensitive(
      raw`${alone}\d{1,20}(?:st|nd|rd|th)?(?= (?:times?|attempts?|tries|retries)\b)`,
    ),
    'number after a word that counts': insensitive(
      raw`(?<=\b(?:${counterWord})(?: ?[-_]?(?:id|no\.?|number))?["']?[ :=#(]{1,3})\d{1,20}${aloneEnd}`,
    ),
    'delay of a retry': insensitive(
      raw`(?<=\bretry(?:ing)?[ -](?:in|after)[ :=]{1,3})\d{1,20}${aloneEnd}`,
    ),
  }),
  ['number after #', new RegExp(raw`#\d{1,20}${aloneEnd}`, 'g'), '#<n>'],
  ['process id in brackets', /(?<=\w)\[\d{3,20}\]/g, '[<n>]'],
  [
    'long number, unless it is an error code',
    insensitive(raw`(?<!\b${codeWord}[ :=#(]{1,3}|[\w.])\d{6,40}(?:\.\d{1,20})?(?!\w)`),
    '<n>',
  ],
];

/** What is replaced in errors, in this order. */
const volatileInErrors: readonly VolatilePart[] = [
  ...times,
  ...temporaryPaths,
  ...uuid,
  ...ids,
  ...addresses,
  ...counters,
];

function replaceAll(text: string, parts: readonly VolatilePart[]): string {
  return parts.reduce(
    (result, [, pattern, placeholder]) => result.replace(pattern, placeholder),
    text.replace(/\s+/g, ' ').trim(),
  );
}

/**
 * Text without its volatile parts: ids, timestamps, counters, durations, addresses, the random part of temporary paths, and
 * runs of white space.
 *
 * Contract: what distinguishes errors stays: names, paths, status and exit codes, lines, versions, values, and every
 * number of which nothing says that it counts. Time grows with the length of the text only.
 * Source: R-BREAKER-3; ADR 0005.
 */
export function normalizeText(text: string): string {
  return replaceAll(text, volatileInErrors);
}

/** What is replaced in results, in this order: when and how long, in which attempt or process, under which id. */
const volatileInResults: readonly VolatilePart[] = [
  ...times,
  ...temporaryPaths,
  ...uuid,
  [
    'id after a word that names a request',
    /(?<=\b(?:req|request|trace|span|call|correlation|session|conn|connection|msg|evt)[\w-]{0,12}["']?[ :=_-]{1,3}["']?)(?=[\w-]{0,80}\d)[\w-]{8,80}/gi,
    '<id>',
  ],
  ['long address in memory', /\b0x[0-9a-f]{6,16}\b/gi, '<address>'],
  duration,
  ['Unix time', /(?<![\w.-])1\d{9}(?:\d{3}|\.\d{1,9})?(?![\w.-])/g, '<time>'],
  [
    'number of an attempt, a process or a duration',
    insensitive(
      raw`(?<=\b(?:attempts?|retry|retries|tries|nonce|tick|uptime|elapsed|pid|tid|took|duration)(?:_?(?:ms|s|id|no|count))?["']?[ :=#(]{1,3})\d{1,20}${aloneEnd}`,
    ),
    '<n>',
  ],
];

/**
 * Every row; `test/core/fingerprint.test.ts` has an example of each. A function, since the sandbox freezes what shared code exports, and
 * a frozen pattern cannot replace.
 */
export const volatileParts = (): readonly VolatilePart[] => [
  ...new Set([...volatileInErrors, ...volatileInResults]),
];

/**
 * A tool's result without what does not make it new: clocks, durations, ids of the request.
 *
 * Contract: what shows progress stays: percentages, counts, sizes, what remains, hashes, and names. Time grows with the
 * length of the text only.
 * Source: ADR 0019.
 */
export function normalizeResult(text: string): string {
  const remains = /\b(?:eta|remaining|left|to\s+go)\b/i.test(text);
  return replaceAll(
    text,
    remains ? volatileInResults.filter((part) => part !== duration) : volatileInResults,
  );
}

/** Held here, since a look at a sandbox's global object for each character would cost more than the hash itself. */
const { imul } = Math;

/** Digits of 2^53 in base 36. All hashes have as many, so that what is made of them costs the same in every run. */
const hashLength = 11;

/**
 * A short hash for names and identities that need no cryptography: 53 bits in base 36 (cyrb53).
 *
 * Contract: equal text gives equal hash on every machine; not for integrity.
 */
export function shortHash(text: string): string {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    high = imul(high ^ code, 2654435761);
    low = imul(low ^ code, 1597334677);
  }
  high = imul(high ^ (high >>> 16), 2246822507) ^ imul(low ^ (low >>> 13), 3266489909);
  low = imul(low ^ (low >>> 16), 2246822507) ^ imul(high ^ (high >>> 13), 3266489909);
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36).padStart(hashLength, '0');
}

function sortedKeys(_key: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
    : value;
}

/** Identity of what a call was made with, whatever the order of its keys. */
export function inputOf({
  input,
  inputBlob,
}: {
  readonly input?: JsonObject | undefined;
  readonly inputBlob?: string | undefined;
}): string | undefined {
  return inputBlob ?? (input && shortHash(JSON.stringify(input, sortedKeys)));
}

/** Identity of a call with exactly this input. */
export function exactCall({
  name,
  ...call
}: { readonly name: string } & Parameters<typeof inputOf>[0]): string {
  return `${name} ${inputOf(call) ?? ''}`;
}

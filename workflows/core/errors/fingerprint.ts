/** Normalises and hashes text, so that a clock, an id or a counter in it cannot make equal things look different. */

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

const times: readonly RegExp[] = [
  new RegExp(raw`\b\d{4}[-/]\d{2}[-/]\d{2}(?:[t ]${clock}|[t ]\d{2}:\d{2})?${zone}`, 'gi'),
  new RegExp(raw`\b${weekday}\d{1,2}[ -]${month}[ -]\d{4}(?:,? ${clock})?${zone}`, 'gi'),
  new RegExp(
    raw`\b${weekday}${month} \d{1,2},? (?:${clock}${zone} )?\d{4}(?:,? ${clock})?${zone}`,
    'gi',
  ),
  new RegExp(raw`\b\d{1,2}/\d{1,2}/\d{4}(?:,? ${clock})?`, 'gi'),
  new RegExp(raw`\b${clock}(?: ?[ap]m\b)?${zone}`, 'gi'),
  /\b\d{1,2}:\d{2} ?[ap]m\b/gi,
  /(?<=\bat )\d{1,2}:\d{2}\b(?!:)/gi,
];

/** Temporary directories: the first name below them is random, what lies deeper is not. */
const temporaryPaths: readonly RegExp[] = [
  /(?:\/private)?\/var\/folders\/[^\s/'"`]{1,100}\/[^\s/'"`]{1,100}\/T\/[^\s/'"`:]{1,200}/g,
  /(?<![\w.])(?:\/private|\/var)?\/tmp\/[^\s/'"`:]{1,200}(?=\/)/g,
  /(?<![\w.])(?:\/private|\/var)?\/tmp\/(?=[^\s/'"`:]{0,100}(?:\d|[-_.][A-Za-z0-9]{6}\b))[^\s/'"`:]{1,200}/g,
  /\b[A-Za-z]:\\(?:[^\s\\'"`]{1,100}\\){1,8}Te?mp\\[^\s\\'"`:]{1,200}/g,
];

const ids: readonly RegExp[] = [
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  // `req_011CXyz…`, `call-3f9k2m1q`: a name, then at least 8 characters with a digit and a letter.
  /\b[a-z]{1,20}[_-](?=[a-z]{0,80}\d)(?=\d{0,80}[a-z])[0-9a-z]{8,80}\b/gi,
  // Base62 (a digit and letters of both cases), ULID (digits and capitals).
  /\b(?=[A-Za-z]{0,64}\d)(?=[0-9a-z]{0,64}[A-Z])(?=[0-9A-Z]{0,64}[a-z])[0-9A-Za-z]{16,64}\b/g,
  /\b(?=[A-Z]{0,26}\d)[0-9A-Z]{26}\b/g,
  /\b(?=\d{0,128}[a-f])(?=[a-f]{0,128}\d)[0-9a-f]{7,128}\b/gi,
];

const addresses: readonly RegExp[] = [
  new RegExp(raw`(?<!\b${codeWord}[ :=#(]{1,3})\b0x[0-9a-f]{1,16}\b`, 'gi'),
  /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g,
  /(?<![\w:])(?=[a-f:]{0,40}\d)(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{1,4}\b/gi,
  /(?<![\w:])(?=[a-f:]{0,40}\d)[0-9a-f]{0,4}::(?:[0-9a-f]{1,4}:?){1,6}(?!\w)/gi,
  /(?<=@)[0-9a-f]{6,16}\b/gi,
];

/** Numbers that stand alone: in no name, path, version or decimal. */
const alone = raw`(?<![\w./-])`;
const aloneEnd = raw`(?![\w/]|[.-]\w)`;
const number = raw`\d{1,20}(?:[.,]\d{1,20})?`;
const unit =
  '(?:ns|µs|us|ms|s|m|h|mins?|secs?|hrs?|(?:milli|micro|nano)?seconds?|minutes?|hours?|days?)';

const counters: readonly (readonly [RegExp, string])[] = [
  [/(?<=\blocalhost):\d{1,5}\b/gi, ':<n>'],
  // Ports that the system hands out (RFC 6335 from 49152, Linux from 32768).
  [/(?<=\bport )(?:3[2-9]\d{3}|[456]\d{4})\b/gi, '<n>'],
  [new RegExp(raw`${alone}${number} ?${unit}${aloneEnd}`, 'gi'), '<duration>'],
  [new RegExp(raw`${alone}${number} ?%`, 'g'), '<n>%'],
  [new RegExp(raw`${alone}\d{1,20} ?/ ?\d{1,20}${aloneEnd}`, 'g'), '<n>/<n>'],
  [new RegExp(raw`${alone}\d{1,20} of \d{1,20}${aloneEnd}`, 'gi'), '<n> of <n>'],
  [
    new RegExp(
      raw`${alone}\d{1,20}(?:st|nd|rd|th)?(?= (?:times?|attempts?|tries|retries)\b)`,
      'gi',
    ),
    '<n>',
  ],
  [
    new RegExp(
      raw`(?<=\b(?:${counterWord})(?: ?[-_]?(?:id|no\.?|number))?["']?[ :=#(]{1,3})\d{1,20}${aloneEnd}`,
      'gi',
    ),
    '<n>',
  ],
  [new RegExp(raw`(?<=\bretry(?:ing)?[ -](?:in|after)[ :=]{1,3})\d{1,20}${aloneEnd}`, 'gi'), '<n>'],
  [new RegExp(raw`#\d{1,20}${aloneEnd}`, 'g'), '#<n>'],
  [/(?<=\w)\[\d{3,20}\]/g, '[<n>]'],
  [new RegExp(raw`(?<!\b${codeWord}[ :=#(]{1,3}|[\w.])\d{6,40}(?:\.\d{1,20})?(?!\w)`, 'gi'), '<n>'],
];

const volatile: readonly (readonly [RegExp, string])[] = [
  ...times.map((pattern) => [pattern, '<time>'] as const),
  ...temporaryPaths.map((pattern) => [pattern, '<tmp>'] as const),
  ...ids.map((pattern) => [pattern, '<id>'] as const),
  ...addresses.map((pattern) => [pattern, '<address>'] as const),
  ...counters,
];

/**
 * Text without its volatile parts: ids, timestamps, counters, durations, addresses, the random part of temporary paths, and
 * runs of white space.
 *
 * Contract: what tells one error from another stays: names, paths, status and exit codes, lines, versions, values, and every
 * number of which nothing says that it counts. Time grows with the length of the text only.
 * Source: DESIGN, Circuit breaker; ADR 0005.
 */
export function normaliseText(text: string): string {
  let result = text.replace(/\s+/g, ' ').trim();
  for (const [pattern, replacement] of volatile) result = result.replace(pattern, replacement);
  return result;
}

/** What differs between two results that say the same: when and how long, in which try or process, under which id. */
const volatileInResults: readonly (readonly [RegExp, string])[] = [
  ...times.map((pattern) => [pattern, '<time>'] as const),
  ...temporaryPaths.map((pattern) => [pattern, '<tmp>'] as const),
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [
    /(?<=\b(?:req|request|trace|span|call|correlation|session|conn|connection|msg|evt)[\w-]{0,12}["']?[ :=_-]{1,3}["']?)(?=[\w-]{0,80}\d)[\w-]{8,80}/gi,
    '<id>',
  ],
  [/\b0x[0-9a-f]{6,16}\b/gi, '<address>'],
  [new RegExp(raw`${alone}${number} ?${unit}${aloneEnd}`, 'gi'), '<duration>'],
  [/(?<![\w.-])1\d{9}(?:\d{3}|\.\d{1,9})?(?![\w.-])/g, '<time>'],
  [
    new RegExp(
      raw`(?<=\b(?:attempts?|retry|retries|tries|nonce|tick|uptime|elapsed|pid|tid|took|duration)(?:_?(?:ms|s|id|no|count))?["']?[ :=#(]{1,3})\d{1,20}${aloneEnd}`,
      'gi',
    ),
    '<n>',
  ],
];

/**
 * A tool's result without what does not make it new: clocks, durations, ids of the request.
 *
 * Contract: what tells of progress stays: percentages, counts, sizes, what remains, hashes and names. Time grows with the
 * length of the text only.
 * Source: ADR 0019.
 */
export function normaliseResult(text: string): string {
  let result = text.replace(/\s+/g, ' ').trim();
  const tellsRemaining = /\b(?:eta|remaining|left|to go)\b/i.test(result);
  for (const [pattern, replacement] of volatileInResults)
    if (!tellsRemaining || replacement !== '<duration>')
      result = result.replace(pattern, replacement);
  return result;
}

/** Held here, since a look at a sandbox's global object for each character would cost more than the hash itself. */
const { imul } = Math;

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
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36);
}

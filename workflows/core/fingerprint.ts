/** Normalises and hashes text, so that a clock, an id or a counter in it cannot make equal things look different. */

const volatile: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [
    /\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?/g,
    '<time>',
  ],
  [/\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b/g, '<time>'],
  [/\b0x[0-9a-f]+\b/gi, '<address>'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '<address>'],
  [
    /\b(?=[0-9a-z_-]*\d)(?=[0-9a-z_-]*[a-z])[0-9a-z]+(?:[_-][0-9a-z]+)*[_-][0-9a-z]{8,}\b/gi,
    '<id>',
  ],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/gi, '<id>'],
  [/\/(?:tmp|var\/folders|private\/tmp)\/[^\s'"`:]*/g, '<path>'],
  [/\d+(?:\.\d+)?/g, '<n>'],
  [/\s+/g, ' '],
];

/**
 * Text without its volatile parts: ids, timestamps, counters, addresses, temporary paths, white space.
 *
 * Source: DESIGN, Circuit breaker.
 */
export function normaliseText(text: string): string {
  let result = text;
  for (const [pattern, replacement] of volatile) result = result.replace(pattern, replacement);
  return result.trim().toLowerCase();
}

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
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36);
}

/** Keeps the entries of a record apart, in prompts that a model reads as data. */

/**
 * A text as one entry of a record: its further lines are indented, so that none of them can pass for the beginning of another
 * entry or for the end of the record.
 */
export function asOneEntry(text: string): string {
  return text.replace(/\r\n?|[\n\u2028\u2029\u0085\v\f]/g, '\n  ');
}

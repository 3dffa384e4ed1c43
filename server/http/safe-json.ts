/** JSON that stays data wherever it lands: in a page, in an event stream, in a log. */

const escapes: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** The value on one line, with what HTML or JavaScript would read as escapes of JSON: whoever parses it gets it unchanged. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (char) => escapes[char] ?? char);
}

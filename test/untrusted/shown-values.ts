/** Reads what people are shown of a value, as a careful person would. */

/** A value as it was before it was shown whole. Errors: for a value with a secret, or a part of one. */
export function original(value: string): unknown {
  const json = value
    .replace(/ \(not Latin letters, though they look like them\)$/, '')
    .replace(
      /((?:^|[^\\])(?:\\\\)*)\\u\{20\}\{(\d+)\}/g,
      (_all, before: string, count: string) => before + ' '.repeat(Number(count)),
    )
    .replace(/\\\\|\\u\{([0-9a-f]+)\}/g, (all, code: string | undefined) =>
      code === undefined
        ? all
        : JSON.stringify(String.fromCodePoint(parseInt(code, 16))).slice(1, -1),
    );
  return JSON.parse(json);
}

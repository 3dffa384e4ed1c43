/** The beginning of a text, with a mark if it was cut: a part of a name must not pass for a name (ADR 0033). */
export function shortened(text: string, maxChars: number): string {
  return text.length <= maxChars
    ? text
    : `${text.slice(0, maxChars - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Text and JSON that are safe to write to a terminal, whatever a model or tool put into them. */
import { visibleText } from '../../../workflows/core/secrets/visible-text';

/** One line with everything that a terminal would obey, and that a reader would not see, as an escape. */
export function printable(text: string): string {
  return visibleText(text.normalize().replace(/\s+/g, ' ')).trim();
}

/** As `printable`, but lines stay lines, with the space in them. */
export function printableLines(text: string): readonly string[] {
  return text.split(/\r\n|[\r\n]/).map((line) => visibleText(line.replace(/\t/g, '    ')));
}

/** The value as JSON, where the same characters are escapes of JSON: what reads it gets the value unchanged. */
export function printableJson(value: unknown, indent?: number): string {
  const units = (char: string): string =>
    Array.from(
      { length: char.length },
      (_, place) => `\\u${char.charCodeAt(place).toString(16).padStart(4, '0')}`,
    ).join('');
  return JSON.stringify(value, undefined, indent)
    .split('\n')
    .map((line) => line.replace(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, units))
    .join('\n');
}

/** Times, amounts and texts as people read them. */
import { nanoUsdOf, usdText } from '../../../workflows/core/budget/spend';
import { visibleText } from '../../../workflows/core/secrets/visible-text';

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** A length of time in its two largest units: `2 h 5 min`. */
export function spanText(ms: number): string {
  const index = units.findIndex(([, unitMs]) => ms >= unitMs);
  const [unit, unitMs] = units[index] ?? ['s', 1_000];
  const count = Math.max(Math.floor(ms / unitMs), 0);
  const [nextUnit, nextMs] = units[index + 1] ?? ['', 1];
  const rest = nextUnit === '' || index < 0 ? 0 : Math.floor((ms % unitMs) / nextMs);
  return `${count} ${unit}${rest === 0 ? '' : ` ${rest} ${nextUnit}`}`;
}

/** A moment, in the time zone of the browser. */
export function timeText(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

/** US dollars; nothing where nobody knows. */
export function moneyText(usd: number | undefined): string {
  return usd === undefined ? '' : usdText(nanoUsdOf(usd));
}

/** A number with separators. */
export function countText(count: number): string {
  return count.toLocaleString('en-US');
}

/** As `safeText`, on one line: for previews. */
export function oneLine(text: string): string {
  return visibleText(text.replace(/\s+/g, ' ').trim());
}

/** A text of a model, a tool or a person: its lines stay, and what is hidden or moves other text is shown as an escape. */
export function safeText(text: string): string {
  return text
    .split(/\r\n|[\r\n]/)
    .map((line) => visibleText(line.replaceAll('\t', '    ')))
    .join('\n');
}

/** What a person wrote into a field of a form, without blanks around it. */
export function fieldText(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value.trim() : '';
}

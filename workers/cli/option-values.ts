/** Values that a command line may have: anything else is refused before the command runs. */
import { InvalidArgumentError, Option } from 'commander';

/** A whole number. */
export function wholeNumber(
  least: number,
  most: number,
  remedy = `Give a whole number from ${least} to ${most}.`,
): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\s*\d+\s*$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(remedy);
  };
}

/** An amount. */
export function dollars(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('Give an amount in US dollars, such as 0.50.');
}

/** Shortest grace in milliseconds: content that is written but not yet in a history must not be swept (ADR 0025). */
const shortestGraceMs = 60_000;
/** Longer than any call may take, the store's wait for its history included (ADR 0025). */
export const defaultGrace = '24h';
const units: Readonly<Record<string, number>> = { s: 1e3, m: 60e3, h: 3_600e3, d: 86_400e3 };

/** Milliseconds of `90m`, `24h`, `7d`. */
const durationOf =
  (shortestMs: number, advice: string) =>
  (text: string): number => {
    const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text.trim()) ?? [];
    const ms = Number(count) * (units[unit] ?? Number.NaN);
    if (ms >= shortestMs) return ms;
    throw new InvalidArgumentError(advice);
  };
/** How old something must be. */
export const graceOf = durationOf(
  shortestGraceMs,
  'Give a duration of at least a minute, such as 90m, 24h or 7d.',
);
const waitOf = durationOf(0, 'Give a duration such as 30s or 10m; 0s does not wait.');
/** Longer than a database or a Temporal cluster takes to start after a power cut. */
const defaultWait = '10m';
/** Of commands that run until they are ended. */
export const wait = new Option(
  '--wait <duration>',
  'wait so long for a store or Temporal that does not answer',
)
  .argParser(waitOf)
  .default(waitOf(defaultWait), defaultWait);

/** `https://app.example.com`, after those given before. */
export function originOf(text: string, before: readonly string[] | undefined): readonly string[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.origin === text && /^https?:$/.test(url.protocol)) return [...(before ?? []), text];
  throw new InvalidArgumentError('Give an origin without a path, such as https://app.example.com.');
}

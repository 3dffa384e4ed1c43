/** Bounds of a share that was counted: Wilson's score interval. */

/** 97.5 % of a normal distribution lies below it, in standard deviations. */
const z95 = 1.959964;

/** Lower and upper bound of the 95 % interval, from 0 to 1. Of nothing counted, anything may be true: 0 and 1. */
export function wilsonInterval(hits: number, count: number): readonly [number, number] {
  if (count === 0) return [0, 1];
  const share = hits / count;
  const spread = z95 ** 2 / count;
  const middle = share + spread / 2;
  const half = z95 * Math.sqrt((share * (1 - share)) / count + spread / (4 * count));
  const bound = (value: number): number => Math.min(1, Math.max(0, value / (1 + spread)));
  return [hits === 0 ? 0 : bound(middle - half), hits === count ? 1 : bound(middle + half)];
}

/** The share with its interval, in percent: `98.2 % (95.1 to 99.4)`; a dash where nothing was counted. */
export function shareText(hits: number, count: number): string {
  if (count === 0) return '–';
  const percent = (value: number): string => (value * 100).toFixed(1);
  const [low, high] = wilsonInterval(hits, count);
  return `${percent(hits / count)} % (${percent(low)} to ${percent(high)})`;
}

/**
 * The nearest-rank percentile: the smallest of the values that at least `percent` percent of them do not exceed.
 * An empty list has none.
 */
export function percentile(values, percent) {
  if (percent <= 0 || percent > 100) throw new RangeError(`no such percentile: ${percent}`);
  if (values.length === 0) return undefined;
  const ranked = [...values].sort();
  const rank = Math.ceil((percent / 100) * ranked.length);
  return ranked[rank - 1];
}

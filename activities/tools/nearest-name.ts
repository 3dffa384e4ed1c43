/** The known name that a misspelled one most likely meant. */
import { distance } from 'fastest-levenshtein';

/** Characters of a name that are compared. */
const comparedChars = 64;

const bare = (name: string): string =>
  name
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');

/** The known names that are nearest: equal but for case and separators, or a part of it, or few letters away. */
function nearestNames(name: string, known: readonly string[]): readonly string[] {
  const wanted = bare(name.slice(0, comparedChars));
  const costOf = (other: string): number => {
    const isPart =
      Math.min(wanted.length, other.length) >= 3 &&
      (other.includes(wanted) || wanted.includes(other));
    return isPart ? 1 : distance(wanted, other);
  };
  const costs = known.map((candidate) => costOf(bare(candidate)));
  const least = Math.min(...costs);
  const isNear = least <= Math.max(1, Math.floor(wanted.length / 3));
  return isNear ? known.filter((_, index) => costs[index] === least) : [];
}

/** The known name that was most likely meant; undefined if none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  return nearestNames(name, known)[0];
}

/** The same, but undefined too if several are equally near. */
export function onlyNearestName(name: string, known: readonly string[]): string | undefined {
  const nearest = nearestNames(name, known);
  return nearest.length === 1 ? nearest[0] : undefined;
}

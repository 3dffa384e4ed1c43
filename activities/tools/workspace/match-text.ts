/** Finds a text in a file, whatever line ends and Unicode form either has. */

/** Matches that are counted; more than one is already too many. */
const maxMatches = 1_000;

/** Where a text stands. */
interface TextMatch {
  readonly at: number;
  readonly length: number;
}

/** The text with `\n` at each line end. */
const normalized = (text: string): string => text.replace(/\r\n/g, '\n');

/** The offset in a text of an offset in its normalized form. */
function offsetInFile(file: string, plainOffset: number): number {
  let offset = plainOffset;
  for (let at = file.indexOf('\r\n'); at >= 0 && at < offset; at = file.indexOf('\r\n', at + 2)) {
    offset += 1;
  }
  return offset;
}

/** Regardless of line ends. */
function byLines(file: string, text: string): readonly TextMatch[] {
  const plainFile = normalized(file);
  const plain = normalized(text);
  const found: TextMatch[] = [];
  // Overlapping matches count too: "aa" occurs twice in "aaa".
  let at = plain === '' ? -1 : plainFile.indexOf(plain);
  while (at >= 0 && found.length < maxMatches) {
    const start = offsetInFile(file, at);
    found.push({ at: start, length: offsetInFile(file, at + plain.length) - start });
    at = plainFile.indexOf(plain, at + 1);
  }
  return found;
}

/** What is composed by itself: a run of ASCII, the letters of a syllable, or a character with its marks. */
const cluster =
  /[\0-\x7f]+(?=[\0-\x7f]|$)|[\u1100-\u115f][\u1160-\u11a7]?[\u11a8-\u11ff]?|\P{M}\p{M}{0,64}|\p{M}{1,64}/gu;

/** A text with composed letters, and for offsets between clusters those in the text itself. */
function composed(text: string): {
  readonly text: string;
  readonly offsetOf: (composedOffset: number) => number | undefined;
} {
  const parts: string[] = [];
  /** Where clusters of another form begin and end, in both texts. */
  const places: { readonly from: number; readonly to: number; readonly shift: number }[] = [];
  let length = 0;
  let shift = 0;
  for (const [own] of text.matchAll(cluster)) {
    const part = own.normalize('NFC');
    if (part !== own) {
      shift += own.length - part.length;
      places.push({ from: length, to: length + part.length, shift });
    }
    parts.push(part);
    length += part.length;
  }
  const offsetOf = (offset: number): number | undefined => {
    const before = places.findLast(({ from }) => from < offset);
    if (before === undefined) return offset;
    return offset < before.to ? undefined : offset + before.shift;
  };
  return { text: parts.join(''), offsetOf };
}

/**
 * Where a text occurs in a file, regardless of line ends. If nowhere, regardless of composed and decomposed letters too: a model
 * writes composed ones, and files from a Mac may have the others.
 */
export function matchesOf(file: string, text: string): readonly TextMatch[] {
  const found = byLines(file, text);
  const sought = text.normalize('NFC');
  if (found.length > 0 || !normalized(file).normalize('NFC').includes(normalized(sought)))
    return found;
  const { text: plain, offsetOf } = composed(file);
  return byLines(plain, sought).flatMap(({ at, length }) => {
    const start = offsetOf(at);
    const end = offsetOf(at + length);
    return start === undefined || end === undefined ? [] : [{ at: start, length: end - start }];
  });
}

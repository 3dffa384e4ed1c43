/** A merge of two branches leaves no change in the changelog twice, once in the words of each. */
import { sourceText } from './documents';

/** Share of the words of the shorter entry that the longer one has, too: paraphrases had 0.81 and more, others 0.54 and less. */
const mostShared = 0.7;

const wordsOf = (entry: string): ReadonlySet<string> =>
  new Set(entry.toLowerCase().match(/[a-z_]{3,}/g));

function sharedWords(one: string, other: string): number {
  const [few, many] = [wordsOf(one), wordsOf(other)].sort((a, b) => a.size - b.size);
  if (few === undefined || many === undefined || few.size === 0) return 0;
  return [...few].filter((word) => many.has(word)).length / few.size;
}

const releases = sourceText('CHANGELOG.md')
  .split(/^## /m)
  .slice(1)
  .map((text) => ({
    name: text.slice(0, text.indexOf('\n')),
    entries: text.match(/^- .*$/gm) ?? [],
  }));

test.each(releases)('$name tells each change once', ({ entries }) => {
  const twice = entries.flatMap((entry, index) =>
    entries
      .slice(index + 1)
      .filter((later) => sharedWords(entry, later) > mostShared)
      .map((later) => [entry, later]),
  );
  expect(twice).toEqual([]);
});

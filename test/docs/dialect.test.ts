/** Phrases of the project's old private dialect do not come back: in code that ships, in messages, prompts and documents. */
import { documents, filesUnder, sourceText } from './documents';
import { productRooms } from '../../scripts/product-rooms';

/**
 * Phrases that are gone; one pattern each, matched within a line and without regard to case.
 *
 * To add one, remove every use of it first. `docs/glossary.md` has the words to use instead.
 */
const gonePhrases: readonly RegExp[] = [
  // Messages and prompts.
  /which there is not/,
  /does(n't| not) get on/,
  /\bhow shall\b/,
  /\bshall\b/,
  /went meanwhile/,
  /it is not said/,
  /\b(has|have|had) not (the|got)\b/,
  /something else than/,
  /nothing that can be read/,
  /orders of the user/,
  /without a word of/,
  /\bin vain\b/,
  /\banew\b/,
  /\bfor ever\b/,
  /\bbefell\b/,
  /\bupon\b/,
  /\bnaught|nought\b/,
  /\b(here|there|where)(of|to|upon|unto)\b/,
  /\b(come|comes|came|coming) to nothing\b/,
  /\b(told|tell|tells) of\b/,
  /\bis none of the\b/,
  /\bmend(s|ed|ing)?\b/,
  // Words for which the glossary has another one.
  /\bruns? (above|below)\b/,
  /\broutes? rest(s|ed)?\b|\brests? the route\b/,
  /\d s of rest\b/,
  /lost ?in ?the ?middle/,
  /\brungs?\b|\bladder\b/,
  /\bcorpus\b/,
  /\blayer [1-4]\b/,
  /\bkin\b/,
  /\bruts?\b/,
  /\bdeeds?\b/,
  // Condensed phrases that a reader must decipher.
  /(?<!there )\b(is|are) no (error|evidence|fact|file|function|loop|outcome|part|step)s?\b/,
];

/** Names in code that said nothing, matched with regard to case. */
const goneNames: readonly RegExp[] = [
  /\b(tell|told|hear|came|mend)[A-Z]\w*/,
  /\b(const|function|let) heard\b/,
  /\b(const|function|let) came\b/,
  /\b(const|function|let) told\b/,
];

interface Text {
  readonly file: string;
  readonly lines: readonly string[];
}

const folders = [...productRooms, 'examples', 'bench', 'scripts'];

function textOf(file: string): Text {
  return { file, lines: sourceText(file).split('\n') };
}

const sources = ['.ts', '.tsx'].flatMap((ending) => filesUnder(folders, ending)).map(textOf);
/** The glossary lists words that are not used. */
const readable = documents()
  .map(({ file }) => file)
  .filter((file) => file !== 'docs/glossary.md')
  .map(textOf);

function uses(texts: readonly Text[], pattern: RegExp): readonly string[] {
  return texts.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) =>
      pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
    ),
  );
}

test.each(gonePhrases)('no text says %p', (phrase) => {
  expect(uses([...sources, ...readable], new RegExp(phrase.source, 'i'))).toEqual([]);
});

test.each(goneNames)('no name in code is like %p', (name) => {
  expect(uses(sources, name)).toEqual([]);
});

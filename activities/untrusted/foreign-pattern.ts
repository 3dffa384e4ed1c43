/** Patterns that a schema or a server brings: they run on an engine whose time is linear, or not at all (ADR 0039). */
import { createRequire } from 'node:module';
import type * as Re2js from 're2js';

/** Characters of a pattern, and of a text that is compared with it: length bounds come first. */
const maxPatternChars = 1_000;
const maxTextChars = 64 * 1024;

/** A pattern as a JSON Schema validator uses it. */
interface ForeignPattern {
  test(text: string): boolean;
  toString(): string;
}

/** Loaded with the first pattern: it takes 9 ms, and most workers meet none. */
function engine(): typeof Re2js.RE2JS {
  return (createRequire(__filename)('re2js') as typeof Re2js).RE2JS;
}

function compiled(source: string): ForeignPattern | undefined {
  if (source.length > maxPatternChars) return undefined;
  try {
    const re2 = engine();
    return re2.compile(re2.translateRegExp(source));
  } catch {
    return undefined;
  }
}

function testBy(source: string, pattern: ForeignPattern | undefined): ForeignPattern {
  return {
    test: (text) => text.length > maxTextChars || (pattern?.test(text) ?? true),
    // The validator tells patterns apart by this.
    toString: () => source,
  };
}

/**
 * Makes a test of a pattern in JavaScript's syntax.
 *
 * Contract: never throws; its time grows with the length of the text. What it cannot judge (look-around, back-references, more
 * than 1,000 repetitions, a longer text) counts as matching: whoever wrote the schema checks the value as well.
 */
export function foreignPattern(source: string): ForeignPattern {
  return testBy(source, compiled(source));
}

/** The same where a match decides about rights. Errors: `TypeError` for what it cannot judge. */
export function judgedPattern(source: string): ForeignPattern {
  const pattern = compiled(source);
  if (pattern === undefined) throw new TypeError('a pattern that is not judged');
  return testBy(source, pattern);
}

// How the validator's generated code would name them; it is never written out.
foreignPattern.code = 'foreignPattern';
judgedPattern.code = 'judgedPattern';

/** Rules that are tried only on a text with a long word match nothing else. */
import type { AST } from '@eslint-community/regexpp';
import { RegExpParser } from '@eslint-community/regexpp';
import { longWord, ownSecretRules } from '../../../workflows/core/secrets/own-secret-rules';
import { redactText } from '../../../workflows/core/secrets/redact';

/** The least length of a match, and every character that one may have. */
interface Shape {
  readonly least: number;
  readonly characters: readonly string[];
}

const none: Shape = { least: 0, characters: [] };
const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

function inSequence(parts: readonly AST.Element[]): Shape {
  return parts.map(shapeOf).reduce(
    (sum, part) => ({
      least: sum.least + part.least,
      characters: [...sum.characters, ...part.characters],
    }),
    none,
  );
}

function oneOf({ alternatives }: AST.Group | AST.CapturingGroup | AST.Pattern): Shape {
  const shapes = alternatives.map(({ elements }) => inSequence(elements));
  return {
    least: Math.min(...shapes.map(({ least }) => least)),
    characters: shapes.flatMap(({ characters }) => characters),
  };
}

function shapeOf(element: AST.Element): Shape {
  switch (element.type) {
    case 'Assertion':
      return none;
    case 'Quantifier': {
      const { least, characters } = shapeOf(element.element);
      return { least: least * element.min, characters };
    }
    case 'Group':
    case 'CapturingGroup':
      return oneOf(element);
    case 'Backreference':
    case 'Character':
    case 'CharacterClass':
    case 'CharacterSet':
    case 'ExpressionCharacterClass': {
      const one = new RegExp(`^(?:${element.raw})$`);
      return { least: 1, characters: ascii.filter((character) => one.test(character)) };
    }
  }
}

const rules = ownSecretRules().filter(({ needsLongWord }) => needsLongWord === true);

test.each(rules.map(({ pattern }) => [pattern.source.slice(0, 60), pattern] as const))(
  'every match of %s is a long word',
  (_start, { source }) => {
    const { least, characters } = oneOf(new RegExpParser().parsePattern(source));
    for (const character of new Set(characters)) expect(character.repeat(least)).toMatch(longWord);
  },
);

test('the shortest tokens are redacted where all other words are short', () => {
  for (const token of ['SG.abcdefgh1jklmnop', 'sk-abcdefgh1jklmnop'])
    expect(redactText(`the key is ${token} now`)).toBe('the key is [redacted] now');
});

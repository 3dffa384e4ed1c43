/** Makes hostile texts for a regular expression out of its own syntax: what it repeats, as filler, and what it waits for, as trigger. */
import type { AST } from '@eslint-community/regexpp';
import { RegExpParser } from '@eslint-community/regexpp';

type Element = AST.Element | AST.QuantifiableElement;

/** Characters of which a class is sampled; one of each kind that patterns tell apart. */
const candidates = Array.from('a0A_- /"=.\n:\\+\'<|,({[@&%\u200d\u{1d173}\u0080\u2028');
/** Least that a repetition allows to be worth filling. */
const repeatedOften = 8;

function charactersOf(element: Element, flags: string): readonly string[] {
  const one = new RegExp(`^${element.raw}$`, flags.replace(/[gy]/g, ''));
  const found = candidates.filter((character) => one.test(character));
  return found.length > 0 ? found : ['x'];
}

/** A text that the element matches; `variant` chooses among characters and alternatives. */
function sample(element: Element, flags: string, variant: number): string {
  switch (element.type) {
    case 'Character':
      return String.fromCodePoint(element.value);
    case 'CharacterClass':
    case 'CharacterSet': {
      const found = charactersOf(element, flags);
      return found[variant % found.length] ?? '';
    }
    case 'Quantifier': {
      const times = Math.min(Math.max(element.min, 1), 64);
      return sample(element.element, flags, variant).repeat(times);
    }
    case 'Group':
    case 'CapturingGroup': {
      const chosen = element.alternatives[variant % element.alternatives.length];
      return chosen === undefined ? '' : sampleAll(chosen.elements, flags, variant);
    }
    case 'Assertion':
      // What a look-behind wants in front must be there; a look-ahead is fed by what follows it.
      return element.kind === 'lookbehind' && !element.negate
        ? sampleAll(element.alternatives[0]?.elements ?? [], flags, variant)
        : '';
    case 'Backreference':
    case 'ExpressionCharacterClass':
      return '';
  }
}

function sampleAll(elements: readonly Element[], flags: string, variant: number): string {
  return elements.map((element) => sample(element, flags, variant)).join('');
}

/** A repetition in the pattern, with what stands in front of it and behind it. */
interface Repetition {
  readonly before: readonly Element[];
  readonly body: AST.QuantifiableElement;
  readonly after: readonly Element[];
}

function repetitionsIn(
  elements: readonly Element[],
  before: readonly Element[],
  after: readonly Element[],
): readonly Repetition[] {
  return elements.flatMap((element, index) => {
    const front = [...before, ...elements.slice(0, index)];
    const rest = [...elements.slice(index + 1), ...after];
    const inner = element.type === 'Quantifier' ? element.element : element;
    const own =
      element.type === 'Quantifier' && element.max >= repeatedOften
        ? [{ before: front, body: element.element, after: rest }]
        : [];
    const alternatives = 'alternatives' in inner ? inner.alternatives : [];
    return [
      ...own,
      ...alternatives.flatMap((alternative) => repetitionsIn(alternative.elements, front, rest)),
    ];
  });
}

/** A hostile text: `filler` as often as fits, then `trigger`. */
export interface HostileText {
  readonly filler: string;
  readonly trigger: string;
}

/** Variants of each repetition: kinds of characters, alternatives. */
const variants = 4;
/** Ends that no pattern expects. */
const strangeEnd = '\u0003!';

function textsFor({ before, body, after }: Repetition, flags: string): readonly HostileText[] {
  const all = Array.from({ length: variants }, (_, variant) => {
    const [front, inner, rest] = [before, [body], after].map((part) =>
      sampleAll(part, flags, variant),
    ) as [string, string, string];
    const fillers = [
      inner,
      `${inner.repeat(20)}\n`,
      `${front}${inner}`,
      `${front}${inner.repeat(20)} `,
      `${inner.repeat(20)}${rest.slice(0, -1)}`,
      front,
    ];
    const triggers = [strangeEnd, rest.slice(0, -1) + strangeEnd];
    return fillers.flatMap((filler) =>
      filler === '' ? [] : triggers.map((trigger) => ({ filler, trigger })),
    );
  });
  return all.flat();
}

/** Hostile texts for a pattern, no two alike. */
export function hostileTexts({ source, flags }: RegExp): readonly HostileText[] {
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes('u'),
  });
  const texts = pattern.alternatives.flatMap(({ elements }) =>
    repetitionsIn(elements, [], []).flatMap((repetition) => textsFor(repetition, flags)),
  );
  return [...new Map(texts.map((text) => [JSON.stringify(text), text])).values()];
}

/** The text of so many characters; the trigger is always there. */
export function textOf({ filler, trigger }: HostileText, chars: number): string {
  const room = Math.max(0, chars - trigger.length);
  return filler.repeat(Math.ceil(room / filler.length)).slice(0, room) + trigger;
}

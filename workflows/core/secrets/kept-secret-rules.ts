/** Takes out secrets by the rules that the gitleaks project keeps: its table as data, applied as a redactor needs it (ADR 0023). */
import { literalPattern } from '../literal-pattern';
import gitleaks from './gitleaks-rules.json';

interface KeptRule {
  /** The pattern can match only a text that contains one of these, in lower case. */
  readonly keywords: readonly string[];
  readonly pattern: () => RegExp;
  /** Group that holds the secret; without it the first group that took part, without groups the whole match. */
  readonly secretGroup: number | undefined;
  /** Bits per character that a secret has more of than a placeholder. */
  readonly entropy: number;
}

type TableRow = (typeof gitleaks.rules)[number] & {
  readonly entropy?: number;
  readonly secretGroup?: number;
};

/** Makes a value when it is first asked for: workflows load this table, and few of them need it. */
function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

const rules: readonly KeptRule[] = gitleaks.rules.map((row: TableRow) => ({
  keywords: row.keywords,
  pattern: lazily(() => new RegExp(row.pattern, 'g')),
  secretGroup: row.secretGroup,
  entropy: row.entropy ?? 0,
}));

/** Finds, at each place, the longest keyword that begins there: one pass over the text instead of one for each keyword. */
const longestKeyword = lazily(() => {
  const keywords = [...new Set(rules.flatMap((rule) => rule.keywords))];
  const longestFirst = keywords.sort((left, right) => right.length - left.length);
  return new RegExp(`(?=(${longestFirst.map(literalPattern).join('|')}))`, 'g');
});

function longestKeywordsIn(text: string): readonly string[] {
  const found = text.toLowerCase().matchAll(longestKeyword());
  return [...new Set(Array.from(found, ([, keyword = '']) => keyword))];
}

/** Shannon entropy of a text in bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) {
    const share = count / text.length;
    bits -= share * Math.log2(share);
  }
  return bits;
}

function secretOf({ secretGroup }: KeptRule, match: string, groups: readonly unknown[]): string {
  const taken =
    secretGroup === undefined
      ? groups.find((group) => typeof group === 'string' && group !== '')
      : groups[secretGroup - 1];
  return typeof taken === 'string' ? taken : match;
}

function redactBy(rule: KeptRule, text: string, mark: string): string {
  return text.replace(rule.pattern(), (match: string, ...rest: readonly unknown[]) => {
    const offsetAt = rest.findIndex((value) => typeof value === 'number');
    const secret = secretOf(rule, match, rest.slice(0, offsetAt));
    if (secret.includes(mark) || entropyOf(secret) <= rule.entropy) return match;
    const at = match.lastIndexOf(secret);
    const lineEnds = '\n'.repeat(secret.split('\n').length - 1);
    return match.slice(0, at) + mark + lineEnds + match.slice(at + secret.length);
  });
}

/**
 * Replaces what the kept rules know as secrets by `mark`; the context that a pattern needs stays.
 *
 * Contract: pure. Source: gitleaks, version in the table; entropy thresholds are its own.
 */
export function redactByKeptRules(text: string, mark: string): string {
  const present = longestKeywordsIn(text);
  const mayApply = ({ keywords }: KeptRule): boolean =>
    keywords.some((keyword) => present.some((found) => found.startsWith(keyword)));
  return rules.filter(mayApply).reduce((clean, rule) => redactBy(rule, clean, mark), text);
}

/** Takes secrets out of text: the first stage of every sink (model, history, log, span). */
import { redactByKeptRules } from './kept-secret-rules';
import type { RedactionRule } from './own-secret-rules';
import { ownSecretRules, redactionMark } from './own-secret-rules';

const lineEndsIn = (text: string): number => text.split('\n').length - 1;

/** The text without what a rule takes. A secret of several lines leaves their ends, so that lines keep their numbers. */
function redactBy({ pattern, replacement }: RedactionRule, text: string): string {
  return text.replace(pattern, (secret: string, ...groups: readonly (string | undefined)[]) => {
    const kept = replacement.replace(
      /\$([12])/g,
      (_group, place: string) => groups[Number(place) - 1] ?? '',
    );
    const lost = lineEndsIn(secret) - lineEndsIn(kept);
    return lost === 0 ? kept : kept.replace(redactionMark, redactionMark + '\n'.repeat(lost));
  });
}

/**
 * Replaces secrets by `[redacted]`: what gitleaks' rules know, then what they lack (ADR 0023): private keys, issuers' tokens, signed tokens, passwords in connection
 * strings and URLs, Authorization and Cookie headers, and values of names such as `password`.
 *
 * Contract: pure; doing it twice changes nothing more; the text keeps its number of lines; the time grows with the length of
 * the text alone (`test/untrusted/linear-patterns.test.ts`). Zero-width and control characters must be gone before
 * (`sanitizeText` does so). Never throws.
 */
export function redactText(text: string): string {
  let clean = redactByKeptRules(text, redactionMark);
  for (const rule of ownSecretRules)
    if (rule.needs === undefined || clean.includes(rule.needs)) clean = redactBy(rule, clean);
  return clean;
}

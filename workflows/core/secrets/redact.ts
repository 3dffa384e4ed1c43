/** Takes secrets out of text: the first stage of every sink (model, history, log, span). */
import { redactByKeptRules } from './kept-secret-rules';
import { ownSecretRules, redactionMark } from './own-secret-rules';

/**
 * Replaces secrets by `[redacted]`: what gitleaks' rules know, then what they lack (ADR 0023): private keys, issuers' tokens, signed tokens, passwords in connection
 * strings and URLs, Authorization and Cookie headers, and values of names such as `password`.
 *
 * Contract: pure; doing it twice changes nothing more; every pattern is bounded, so that the time grows with the length of
 * the text alone. Zero-width and control characters must be gone before (`sanitizeText` does so). Never throws.
 */
export function redactText(text: string): string {
  let clean = redactByKeptRules(text, redactionMark);
  for (const rule of ownSecretRules) {
    if (rule.needs === undefined || clean.includes(rule.needs))
      clean = clean.replace(rule.pattern, rule.replacement);
  }
  return clean;
}

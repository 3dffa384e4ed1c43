/** What a person says, made fit for state, payloads and every vendor. */
import { personTextChars } from '../limits';
import { stripHidden } from '../secrets/hidden-characters';

/** What the model reads where a person answered nothing. */
export const emptyAnswer = '(the user gave an empty answer)';

function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const notice = `\n[Cut here: the whole text had ${text.length} characters.]`;
  return text.slice(0, Math.max(maxChars - notice.length, 0)) + notice.slice(0, maxChars);
}

/**
 * A person's text, at most `maxChars` long, so that state and payloads stay bounded in bytes: three per character at most.
 * What is cut says so. Hidden characters go first: they could part a secret, which then nothing would recognize.
 *
 * Source: `personTextChars` (ADR 0003).
 */
export function personText(text: string, maxChars: number = personTextChars): string {
  return stripHidden(cut(text, maxChars));
}

/** A person's words inside one of the runtime's own sentences: in quotes, on one line, bounded. */
export function quotedText(text: string, maxChars: number): string {
  return JSON.stringify(personText(text, maxChars).replace(/\s+/g, ' '));
}

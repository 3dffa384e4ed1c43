/** What a person says, made fit for state, payloads and every vendor. */
import { personTextChars } from '../limits';

/** What the model reads where a person answered nothing. */
export const emptyAnswer = '(the user gave an empty answer)';

/** Control characters but tab and line ends: JSON spells each in six bytes, and no vendor wants them. */
const control = /(?![\t\n\r])\p{Cc}/gu;

/** Halves of surrogate pairs, which vendors refuse. */
const loneSurrogate = /\p{Cs}/gu;

function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const notice = `\n[Cut here: the whole text had ${text.length} characters.]`;
  return text.slice(0, Math.max(maxChars - notice.length, 0)) + notice.slice(0, maxChars);
}

/**
 * A person's text, at most `maxChars` long, so that state and payloads stay bounded in bytes: three per character at most.
 * What is cut says so.
 *
 * Source: `personTextChars` (ADR 0003).
 */
export function personText(text: string, maxChars: number = personTextChars): string {
  return cut(text, maxChars).replace(control, ' ').replace(loneSurrogate, '\uFFFD');
}

/** Bidi controls and tags: they make a text look other than it reads. */
const disguises = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\u{e0000}-\u{e007f}]/gu;

/** A person's words inside one of the runtime's own sentences: in quotes, on one line, bounded. */
export function quotedText(text: string, maxChars: number): string {
  return JSON.stringify(personText(text.replace(disguises, ''), maxChars).replace(/\s+/g, ' '));
}

/** Names the kind of an error: what is left of it without names, numbers and quoted parts. Learning clusters by it. */
import { normalizeText, shortHash } from './fingerprint';

/** Characters of an error's text that determine its kind (ADR 0027). */
const kindChars = 300;

/** What differs between two errors of the same kind, most specific first. */
const particulars: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>]{1,2000}/gi, '<url>'],
  [/"[^"\n]{0,400}"|`[^`\n]{0,400}`|(?<!\w)'[^'\n]{0,400}'(?!\w)/g, '<value>'],
  [/(?<![\w<])(?:[A-Za-z]:)?[\w.@~-]{0,100}(?:[/\\][\w.@~-]{1,100}){1,40}[/\\]?/g, '<path>'],
  [/(?<![\w.<])[\w@-]{1,100}(?:\.[\w-]{1,20}){0,3}\.[a-z][a-z0-9]{0,5}\b(?!\()/gi, '<path>'],
  // A number that says which error it is stays: HTTP 404, exit code 2.
  [
    /(?<!\b(?:code|status|https?|errno|error|exited|signal|with)[ :=#(]{1,3})(?<![\w<.])[-+]?\d{1,20}(?:[.,]\d{1,20}){0,5}(?![\w>])/gi,
    '<n>',
  ],
  [/(?<=<(?:value|path|url|n)>)[.,;:?!]{1,3}(?=\s|$)/g, ''],
];

/**
 * The text of an error's kind, for people.
 *
 * Contract: pure; time grows with the length of the text only.
 */
export function errorKindText(message: string): string {
  let text = normalizeText(message.slice(0, kindChars * 4));
  for (const [pattern, replacement] of particulars) text = text.replace(pattern, replacement);
  return text.slice(0, kindChars);
}

/** Equal for errors of the same code and kind, whichever file, id or number they name. */
export function errorFingerprint(code: string, message: string): string {
  return shortHash(`${code} ${errorKindText(message).toLowerCase()}`);
}

/** What a text may hold that nobody sees: it hides secrets from rules, orders from people, and breaks wires. */

/** Terminal sequences: CSI, OSC, DCS, similar ones, and single escapes, in 7-bit and 8-bit form. */
const terminalSequences = new RegExp(
  [
    '(?:\\u001b\\[|\\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]?',
    '(?:\\u001b[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007\\u001b\\u009c]{0,4096}(?:\\u0007|\\u001b\\\\|\\u009c)',
    '\\u001b[ -/]{0,8}[0-~]?',
  ].join('|'),
  'gu',
);

/** Line ends of every kind: CRLF, CR, line and paragraph separators, NEL, VT, FF. */
const lineEnds = /\r\n?|[\u2028\u2029\u0085\v\f]/gu;

const joiner = '(?:\\u200c|\\u200d|[\\ufe00-\\ufe0e])';

/**
 * Characters that a person does not see: C0 and C1 controls, bidi controls, zero-width and filler characters, tags,
 * variation selectors that carry bytes, annotations, non-characters.
 */
const hiddenCharacters = new RegExp(
  [
    '[\\u0000-\\u0008\\u000e-\\u001f\\u007f-\\u009f]',
    '\\u034f|\\u17b4|\\u17b5|[\\u180b-\\u180f]|[\\u00ad\\u061c\\u115f\\u1160\\u3164\\uffa0]',
    '[\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff0-\\ufffb\\ufffe\\uffff]',
    '[\\u{e0000}-\\u{e0fff}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}]',
    // The selector of emoji and the blank of Braille mean nothing beside ASCII, but for the keycaps of emoji.
    '(?<=[!-~])\\ufe0f+(?!\\u20e3)|(?<=[!-~])\\u2800+(?=[!-~])',
    // Joiners and selectors are needed in emoji and some scripts, never beside ASCII or in runs.
    `(?<=[!-~])${joiner}+|${joiner}+(?=[!-~])`,
    `(?<=(?:${joiner}|\\ufe0f){2})(?:${joiner}|\\ufe0f)+`,
  ].join('|'),
  'gu',
);

const loneSurrogates = /\p{Surrogate}/gu;

/** Removes terminal sequences only; line ends in them stay, so that lines keep their numbers. */
export function withoutTerminalSequences(text: string): string {
  return text.replace(terminalSequences, (sequence) =>
    '\n'.repeat(sequence.split('\n').length - 1),
  );
}

/**
 * Removes what a person would not see and what breaks wires: terminal sequences, control, bidi, zero-width and tag characters;
 * lone surrogates become U+FFFD; all line ends become `\n`; tabs stay.
 */
export function stripHidden(text: string): string {
  return withoutTerminalSequences(
    text.replace(loneSurrogates, '\ufffd').replace(lineEnds, '\n'),
  ).replace(hiddenCharacters, '');
}

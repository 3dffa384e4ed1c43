/** The mark of a redaction. A separate module, since rules and redactor both need it. */

/** What replaces a secret in a text. */
export const redactionMark = '[redacted]';

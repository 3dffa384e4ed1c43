/** The mark of a redaction; a module of its own, since rules and redactor both need it. */

/** What stands in a text where a secret was. */
export const redactionMark = '[redacted]';

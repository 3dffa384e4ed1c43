/** Texts in commands that people paste into a shell. */

/** A text as one word of a POSIX shell: as it is where no shell reads anything into it, else in single quotes. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Which headers and variables hold secrets. Loads nothing else: the command line asks before anything. */

const secretName =
  /auth(?!or(?!iz))|key|token|secret|password|passwd|passphrase|_pwd$|cookie|credential|webhook|_headers$|_dsn$|(^|_)pat$/i;

const addressWithPassword = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s]+@/i;

/** Whether a header or variable holds a secret: its name says so, or its value is an address with a password. A path only leads to one. */
export function isSecret(name: string, value: string): boolean {
  return (secretName.test(name) && !value.startsWith('/')) || addressWithPassword.test(value);
}

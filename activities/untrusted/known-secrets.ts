/** Secrets that this process was given: known by value, they are found in every common encoding, whatever their shape. */
import { literalPattern } from '../../workflows/core/literal-pattern';
import { redactionMark } from '../../workflows/core/secrets/own-secret-rules';
import { redactText } from '../../workflows/core/secrets/redact';
import { isSecret } from './secret-names';

/** Characters of a value; a shorter one could be a word of any text. Keys of vendors have at least 20. */
const minChars = 16;

/** Line ends within an encoded value, as they are and as JSON writes them: `base64` breaks lines after 76 characters. */
const wrap = '(?:\\s|\\\\[rn]){0,3}';
/** What stands in front of the two digits of a byte: `\x73`, `0x73`, `%73`, `\u0073`, `73:6b`. */
const byteMark = '(?:\\\\x|0x|%|\\\\u00|[\\s:,-]|\\\\[rn]){0,4}';

const spelled = (text: string): string => Array.from(text, literalPattern).join(wrap);

/** Base64 of the bytes behind so many others: the characters that depend on nothing but them. */
function base64At(bytes: Buffer, offset: number): string {
  const all = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
  return all.slice(Math.ceil((offset * 4) / 3), Math.floor(((offset + bytes.length) * 4) / 3));
}

/** Pattern of a value in every encoding. Each is a row of fixed characters, so that its time grows with the text alone. */
function patternOf(value: string): RegExp {
  const bytes = Buffer.from(value);
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset));
  const plain = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
  const urlSafe = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const hexadecimal = Array.from(bytes.toString('hex').matchAll(/../g), ([digits]) =>
    digits.replace(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`),
  );
  const forms = [...new Set([...plain, ...base64, ...urlSafe])].map(spelled);
  return new RegExp([...forms, hexadecimal.join(byteMark)].join('|'), 'g');
}

/** By value; each process has a handful. */
const known = new Map<string, RegExp>();

/** Remembers a secret, so that no text that passes `withoutSecrets` holds it from now on. A short one is not remembered. */
export function rememberSecret(value: string | undefined): void {
  if (value !== undefined && value.length >= minChars && !known.has(value))
    known.set(value, patternOf(value));
}

type NamedValues = Readonly<Record<string, string | undefined>>;

/** Secrets among headers or variables: values without a scheme such as `Bearer`, and passwords of addresses. */
function secretsIn(named: NamedValues): readonly string[] {
  return Object.entries(named).flatMap(([name, value = '']) =>
    isSecret(name, value) ? [value.split(' ').at(-1) ?? '', ...passwordsOf(value)] : [],
  );
}

/** Remembers the secrets among headers or variables. */
export function rememberSecretsOf(named: NamedValues = {}): void {
  secretsIn(named).forEach(rememberSecret);
}

/** Forgets them: they have expired, and each costs time in every text. */
export function forgetSecretsOf(named: NamedValues = {}): void {
  for (const value of secretsIn(named)) known.delete(value);
}

/** Remembers the password of an address, as it is written there and without percent escapes. */
export function rememberPasswordOf(address: string): void {
  passwordsOf(address).forEach(rememberSecret);
}

/** The password of an address, as it is written there and without percent escapes. */
function passwordsOf(address: string): readonly string[] {
  const { password = '' } = URL.parse(address) ?? {};
  // A `%` that escapes nothing stands for itself.
  return [password, password.replace(/(%[0-9a-f]{2})+/gi, unescapedBytes)];
}

function unescapedBytes(escapes: string): string {
  return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8');
}

/**
 * Replaces secrets by `[redacted]`: those that this process was given, in every common encoding, then what the rules know.
 *
 * Contract: as `redactText`: never throws; doing it twice changes nothing more; line ends stay.
 */
export function withoutSecrets(text: string): string {
  let clean = text;
  for (const pattern of known.values()) clean = clean.replace(pattern, markKeepingLines);
  return redactText(clean);
}

function markKeepingLines(secret: string): string {
  return redactionMark + '\n'.repeat(secret.split('\n').length - 1);
}

/** Keys of approvers: a private one signs a person's decisions, a public one lets workers verify them (ADR 0040). */
import type { KeyObject } from 'node:crypto';
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { JsonObject } from '../workflows/core/json';
import { defined } from '../workflows/core/json';
import type { Decision } from '../workflows/core/people/ports';
import { argumentsText, decisionStatement } from '../workflows/core/people/signed-decision';
import { ClientError, reasonOf } from './client-error';

/**
 * The private key in a PEM text.
 *
 * Errors: `invalid-input`; the text is never shown.
 */
export function approvalKeyFrom(pem: string): KeyObject {
  const remedy =
    'Give the PEM text of an Ed25519 private key, as `holdfast approval-key FILE` writes it.';
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (thrown) {
    throw new ClientError(
      'invalid-input',
      `The approval key cannot be read: ${reasonOf(thrown)}. ${remedy}`,
    );
  }
  if (key.asymmetricKeyType === 'ed25519') return key;
  throw new ClientError(
    'invalid-input',
    `The approval key is of type ${String(key.asymmetricKeyType)}. ${remedy}`,
  );
}

/** The public key of a key, as workers take it: `ed25519:` and 32 bytes in base64url. */
export function publicKeyText(privateKey: KeyObject): string {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  return `ed25519:${String(x)}`;
}

/** Signs a decision on an approval of the run with this key: base64url. */
export function signDecision(
  key: KeyObject,
  runKey: string,
  { input, ...decision }: Omit<Decision, 'inputDigest'> & { readonly input?: JsonObject },
): string {
  const inputDigest =
    input === undefined
      ? undefined
      : createHash('sha256').update(argumentsText(input)).digest('base64url');
  const statement = decisionStatement(runKey, { ...decision, ...defined({ inputDigest }) });
  return sign(null, Buffer.from(statement), key).toString('base64url');
}

/** The people who may decide on approvals, by their public keys, and what they have signed (ADR 0040). */
import type { KeyObject } from 'node:crypto';
import { createPublicKey, verify } from 'node:crypto';
import type { Decision } from '../../workflows/core/people/ports';
import { decisionStatement } from '../../workflows/core/people/signed-decision';
import { UserError } from '../lifecycle/user-error';

/** One who may decide. */
export interface Approver {
  /** `ed25519:` and the 32 bytes of the key in base64url (RFC 8032). */
  readonly publicKey: string;
  readonly key: KeyObject;
}

/** Approvers that a message names. */
const namedApprovers = 3;
/** Characters of a wrong key that a message shows: someone may have given the private one. */
const shownChars = 16;

function approverOf(given: unknown): Approver {
  const publicKey = String(given);
  const x = /^ed25519:([\w-]{43})$/.exec(publicKey)?.[1];
  if (x === undefined)
    throw new UserError(
      `approvers: ${JSON.stringify(publicKey.slice(0, shownChars))} is no public key; give what \`holdfast approval-key FILE\` prints, "ed25519:" and 43 characters.`,
    );
  return {
    publicKey,
    key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
  };
}

/**
 * The approvers that a worker is given.
 *
 * Errors: `UserError` for an empty list, and for what is no public key.
 */
export function approversFrom(publicKeys: readonly string[]): readonly Approver[] {
  if (!Array.isArray(publicKeys) || publicKeys.length === 0)
    throw new UserError(
      'approvers must be a list of at least one public key; leave it out if decisions need no signature.',
    );
  return publicKeys.map(approverOf);
}

/** Why a decision does not count, for the person who sent it; undefined if an approver has signed exactly this one. */
export function problemOfSignature(
  approvers: readonly Approver[],
  runKey: string,
  decision: Decision,
  signature: string | undefined,
): string | undefined {
  const statement = Buffer.from(decisionStatement(runKey, decision));
  const bytes = Buffer.from(signature ?? '', 'base64url');
  if (approvers.some(({ key }) => verify(null, statement, key, bytes))) return undefined;
  const named = approvers.slice(0, namedApprovers).map(({ publicKey }) => publicKey);
  const more = approvers.length - named.length;
  const who = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return signature === undefined
    ? `The decision has no signature. Sign it with the private key of an approver: ${who}.`
    : `The signature is not valid for this decision, on this action, in this run, by any of the approvers: ${who}. Look at what waits now, and decide with the private key of one of them.`;
}

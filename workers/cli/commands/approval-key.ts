/** `holdfast approval-key`: makes the key pair of an approver. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { publicKeyText } from '../../../client/approval-key';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import { reasonOf, SetupError } from '../../setup-error';

/** Writes the private key into a new file that only this user can read, and prints the public one. */
export async function approvalKey(
  context: CommandContext,
  given: string,
  options: CommonOptions,
): Promise<void> {
  const file = path.resolve(context.directory, given);
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' });
  try {
    await writeFile(file, pem, { flag: 'wx', mode: 0o600 });
  } catch (thrown) {
    throw new SetupError(
      `The approval key cannot be written to ${file}: ${reasonOf(thrown)}. Give a new file in a directory that exists.`,
      { cause: thrown },
    );
  }
  const publicKey = publicKeyText(privateKey);
  print(context, options, { file, publicKey }, publicKey);
  if (options.json === true) return;
  context.output.note(
    `The private key is in ${file}. Keep it where no worker runs. To decide with it: HOLDFAST_APPROVAL_KEY=${file} holdfast approve RUN. Workers get the public key above: HOLDFAST_APPROVERS, or approvers of createActivities.`,
  );
}

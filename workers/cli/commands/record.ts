/** `holdfast record`: a run as a script for tests. */
import { rememberSecretsOf } from '../../../activities/untrusted/known-secrets';
import { asClientError } from '../../../client/temporal-failure';
import type { CommandContext, CommonOptions } from '../command-context';
import { printableJson } from '../display/printable';
import { scriptSource } from '../display/script-source';
import { withStore } from '../environment-store';
import { withTemporal } from '../reach-temporal';
import { recordRun } from '../recorded-run';

/** Prints the script. */
export async function record(
  context: CommandContext,
  runId: string,
  { json }: CommonOptions,
): Promise<void> {
  rememberSecretsOf(context.variables);
  const recorded = await withTemporal(context, ({ client, server: { address, namespace } }) =>
    withStore(context, (store) => recordRun(client.workflow, store, runId)).catch(
      (thrown: unknown) => {
        throw asClientError(thrown, { address, namespace, runId });
      },
    ),
  );
  const source = scriptSource(runId, recorded);
  const { agent } = recorded.request;
  context.output.write(
    json === true ? `${printableJson({ runId, agent, script: source })}\n` : source,
  );
}

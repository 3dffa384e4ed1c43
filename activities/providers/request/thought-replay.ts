/** A refusal of thoughts is worth a repeat only if the repeated request differs. */
import type { InfraError } from '../../../workflows/core/failure';
import { without } from '../../../workflows/core/json';
import { InfraException } from '../../lifecycle/infra-exception';
import type { ModelReply, ModelRequest } from '../provider';

/**
 * Sends, and drops what a refusal says about thoughts where the repeat would be the same bytes.
 *
 * Errors: those of `send`.
 */
export async function withThoughtsChecked(
  request: ModelRequest,
  bodyOf: (request: ModelRequest) => unknown,
  send: () => Promise<ModelReply>,
): Promise<ModelReply> {
  try {
    return await send();
  } catch (thrown) {
    const failure: InfraError | undefined =
      thrown instanceof InfraException ? thrown.failure : undefined;
    if (failure?.thoughts === undefined) throw thrown;
    const { thoughts } = failure;
    const [sent, repeated] = [request, { ...request, thoughts }].map((each) =>
      JSON.stringify(bodyOf(each)),
    );
    throw sent === repeated
      ? new InfraException(without(failure, 'thoughts'), { cause: thrown })
      : thrown;
  }
}

/** What a refusal says about how the request is written is worth a repeat only if the repeated request differs. */
import type { InfraError } from '../../../workflows/core/failure';
import { without } from '../../../workflows/core/json';
import { InfraException } from '../../lifecycle/infra-exception';
import type { ModelReply, ModelRequest } from '../provider';

/** The request without anything that asks the vendor to enforce a form: the reply is only read and checked. */
function withoutStructure(request: ModelRequest): ModelRequest {
  return {
    ...without(request, 'output'),
    tools: request.tools.map((tool) => without(tool, 'strict')),
  };
}

/** What the refusal shows, as far as it can be repeated differently. Vendors have no common words for a form that they do not take. */
function shown(
  failure: InfraError,
  request: ModelRequest,
  bodyOf: (request: ModelRequest) => unknown,
): InfraError {
  const differs = (repeated: ModelRequest): boolean =>
    JSON.stringify(bodyOf(request)) !== JSON.stringify(bodyOf(repeated));
  const { thoughts, code } = failure;
  if (thoughts !== undefined)
    return differs({ ...request, thoughts }) ? failure : without(failure, 'thoughts');
  const isForm = code === 'format' && differs(withoutStructure(request));
  return isForm ? { ...failure, structure: 'refused' } : failure;
}

/**
 * Sends, and says with a refusal what of the request's dialect may be its cause: thoughts that the vendor names, or a form that it
 * was asked to enforce.
 *
 * Errors: those of `send`.
 */
export async function withDialectChecked(
  request: ModelRequest,
  bodyOf: (request: ModelRequest) => unknown,
  send: () => Promise<ModelReply>,
): Promise<ModelReply> {
  try {
    return await send();
  } catch (thrown) {
    if (!(thrown instanceof InfraException)) throw thrown;
    const failure = shown(thrown.failure, request, bodyOf);
    throw failure === thrown.failure ? thrown : new InfraException(failure, { cause: thrown });
  }
}

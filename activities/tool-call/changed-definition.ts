/** A tool whose definition was changed after a person approved a call of it: the approval was for another tool (ADR 0043). */
import type { JsonObject } from '../../workflows/core/json';
import type { RunToolInput } from '../../workflows/core/tools/ports';
import { actionDigest } from '../identity/call-identity';
import type { Store } from '../stores/store';
import type { Tool } from '../tools/tool';
import type { FinishedExecution } from './tool-execution';
import { toolFailure } from './tool-execution';

/**
 * The error of an approved call whose tool has another definition by now; undefined if it may run.
 *
 * Contract: asks the tool's source again, as the definition may have changed while people decided. Nothing runs. A source that
 * cannot be asked is left to the call itself, which will not reach it either; so is a call that an earlier attempt has started.
 */
export async function changedDefinition(
  store: Store,
  tool: Tool,
  { toolCallId, name, approvedDigest, idempotencyKey }: RunToolInput,
  input: JsonObject,
): Promise<FinishedExecution | undefined> {
  if (approvedDigest === undefined || tool.definitionDigest === undefined) return undefined;
  const { type } = await store.getTool(idempotencyKey);
  if (type === 'executing' || type === 'finished') return undefined;
  await tool.readDefinition?.().catch(() => undefined);
  if (actionDigest({ toolCallId, name, input }, tool) === approvedDigest) return undefined;
  const message = `${name} was not called: its definition has changed since the call was approved, or is not there to be compared`;
  const hint =
    'If the call is still wanted, make it again: a person is asked again, about the tool as it is now.';
  return { type: 'error', error: toolFailure(tool, 'tool_denied', message, { hint }) };
}

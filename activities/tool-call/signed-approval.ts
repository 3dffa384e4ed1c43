/** The last look before a call runs: where decisions are signed, nothing that needs approval runs without a valid signature. */
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import { argumentsText } from '../../workflows/core/people/signed-decision';
import { runKeyOf } from '../../workflows/core/tools/lineage';
import type { RunToolInput } from '../../workflows/core/tools/ports';
import type { RunDefinition } from '../definitions/activity-deps';
import type { Approver } from '../definitions/approvers';
import { problemOfSignature } from '../definitions/approvers';
import { actionDigest } from '../identity/call-identity';
import { contentHash } from '../stores/content-hash';
import type { Tool } from '../tools/tool';
import { runContextOf } from './tool-of-run';

/** Input of a call, as it travelled and as its tool parsed it. */
interface GivenInput {
  readonly given: JsonObject;
  /** What the approver saw, if they changed it. */
  readonly shown?: JsonObject;
  readonly parsed: unknown;
}

/**
 * Why a call may not run; undefined if it may.
 *
 * Contract: trusts nothing that came through Temporal. Whoever reaches the namespace can complete activities in a worker's place,
 * and start workflows with any state: the tool's rule and the signature decide here, in the process that runs the tool.
 */
export function problemOfApproval(
  approvers: readonly Approver[],
  definition: RunDefinition,
  tool: Tool,
  call: RunToolInput,
  { given, parsed, shown }: GivenInput,
): string | undefined {
  const { toolCallId, name, approval, idempotencyKey, lineage } = call;
  if (approval === undefined) {
    const context = {
      tool: name,
      toolCallId,
      ...runContextOf(definition),
      iteration: lineage?.iteration ?? 0,
    };
    return tool.needsApproval(parsed, context)
      ? 'It needs an approval that an approver has signed, and none came with it.'
      : undefined;
  }
  const { signature, by } = approval;
  const decision = {
    approvalId: toolCallId,
    digest: actionDigest({ toolCallId, name, input: shown ?? given }, tool),
    decision: 'approve' as const,
    ...defined({
      by,
      inputDigest: shown === undefined ? undefined : contentHash(argumentsText(given)),
    }),
  };
  return problemOfSignature(approvers, runKeyOf(idempotencyKey), decision, signature);
}

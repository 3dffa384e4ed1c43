/** What replies and plans propose, and what all outcomes are made of: calls, failures, sizes, spending. */
import type { Allowance, CallSpend } from '../../workflows/core/budget/spend';
import { noUsage } from '../../workflows/core/budget/spend';
import type { ContextMeasure } from '../../workflows/core/context/measure';
import { shortHash } from '../../workflows/core/errors/fingerprint';
import type { AgentError, InfraError } from '../../workflows/core/failure';
import type { JsonObject } from '../../workflows/core/json';
import type { ProposedToolCall } from '../../workflows/core/tools/ports';
import type { CallSpec } from './small-agent';
import type { AwaitedCommand, World } from './world';
import { learn } from './world';

export type CommandOf<Type extends AwaitedCommand['type']> = Extract<
  AwaitedCommand,
  { type: Type }
>;

const usualPrice = 1_000;

/** A failure of the infrastructure. */
export function infraError(code: string, more: Partial<InfraError> = {}): InfraError {
  return {
    kind: 'infra',
    code: code as InfraError['code'],
    message: `it failed: ${code}`,
    ...more,
  };
}

/** A mistake that the model can correct. */
export function agentError(code: AgentError['code'], toolName?: string): AgentError {
  const message = `boom ${code}`;
  const base = { kind: 'agent', code, message, recoverable: true } as const;
  return toolName === undefined ? base : { ...base, toolName };
}

/** A measured request. */
export function measured(more: Partial<ContextMeasure> = {}): ContextMeasure {
  const sizes = { tokens: 100_000, fixedTokens: 5_000, tailTokens: 5_000, strippableTokens: 0 };
  return { ...sizes, messages: 40, bytes: 400_000, images: 0, ...more };
}

/** Spends up to `nanoUsd`, and no more than is allowed. */
export function spend(world: World, allowance: Allowance | undefined, nanoUsd: number): CallSpend {
  const spent = Math.min(nanoUsd, allowance?.nanoUsd ?? Infinity);
  world.spentNanoUsd += spent;
  return { usage: { ...noUsage, inputTokens: 10, outputTokens: 5 }, nanoUsd: spent };
}

export function priceOf({ agent }: World): number {
  return agent.price ?? usualPrice;
}

/** A proposed call. Contract: its label is that of no other call of the run. */
export function proposedCall(
  world: World,
  spec: CallSpec,
  toolCallId: string,
  isOwn: boolean,
): ProposedToolCall {
  const { name, approval, isBad, file, privileged } = spec;
  const input: JsonObject = spec.input ?? { arg: 1 };
  const label = `L${toolCallId}`;
  learn(world, toolCallId, {
    name,
    label,
    ...(approval === undefined ? {} : { needsApproval: approval }),
    ...(isOwn ? { isOwn } : {}),
  });
  return {
    toolCallId,
    name,
    label,
    ...(isBad === undefined ? { input } : { error: agentError('invalid_params', name) }),
    ...(approval === undefined ? {} : { approvalDigest: `digest-${toolCallId}` }),
    ...(file === undefined ? {} : { editedFile: file }),
    ...(privileged === undefined
      ? {}
      : {
          privileged: {
            digest: `privileged-${toolCallId}`,
            parameters: [{ name: privileged, use: privileged }],
          },
        }),
    fingerprint: shortHash(`${name} ${JSON.stringify(input)}`),
  };
}

/** What each thing in flight may come to, by name, and the event that it comes back as. */
import type { InfraError } from '../../workflows/core/failure';
import type { UnstampedEvent } from '../../workflows/core/run/protocol';
import { activityTable } from '../../workflows/core/run/protocol';
import { compactEvent, modelEvent, planEvent } from './model-outcomes';
import { infraError, priceOf, spend } from './proposals';
import { cancelledEnd, editEvent, subagentEvent, toolEvent } from './tool-outcomes';
import type { AwaitedCommand, InFlight, World } from './world';
import { learn } from './world';

/** What is cancelled may still complete. */
const despiteCancel: { readonly [Type in AwaitedCommand['type']]?: readonly string[] } = {
  'run-tool': ['ok'],
  'run-subagent': ['ok'],
  'call-model': ['answer', 'held'],
  compact: ['ok'],
  'plan-recovery': ['advise'],
  'hand-over': ['ok'],
  'check-guardrails': ['pass'],
};

/** Where an agent says nothing; `ok` otherwise. */
const usualOutcomes: { readonly [Type in AwaitedCommand['type']]?: readonly string[] } = {
  'check-edit': ['ok', 'no', 'x:tool_infrastructure'],
  'plan-recovery': ['advise'],
  'run-subagent': ['ok', 'failed', 'lost', 'not-started'],
  'check-guardrails': ['pass'],
};

/** What this may come to now. */
export function outcomesOf(world: World, { command, isCancelled }: InFlight): readonly string[] {
  const { agent, state, isPrepared } = world;
  if (isCancelled) return ['cancelled', ...(despiteCancel[command.type] ?? [])];
  if (command.type === 'call-model') return agent.model(state.counters.modelCalls);
  if (command.type === 'run-tool') return agent.tools?.[command.input.name] ?? ['ok'];
  const ofAgent: { readonly [Type in AwaitedCommand['type']]?: readonly string[] | undefined } = {
    'prepare-run': isPrepared ? undefined : agent.prepare,
    compact: agent.compactions,
    'check-edit': agent.checks,
    'plan-recovery': agent.plans,
    'run-subagent': agent.subagents,
    'check-guardrails': agent.guardrails,
    'hand-over': agent.handovers,
  };
  return ofAgent[command.type] ?? usualOutcomes[command.type] ?? ['ok'];
}

/** The failure that an outcome names; undefined for any other outcome. */
function failureOf(world: World, command: AwaitedCommand, outcome: string): InfraError | undefined {
  if (outcome === 'cancelled') return infraError('worker_lost');
  if (!outcome.startsWith('x:')) return undefined;
  const [code = ''] = outcome.slice(2).split('?');
  const route = command.type === 'call-model' ? { route: 'p0/m' } : {};
  const asks =
    command.type === 'call-model' ||
    (command.type === 'compact' && command.input.summary !== undefined) ||
    (command.type === 'plan-recovery' && command.input.routeIndex !== undefined);
  if (!asks) return infraError(code, route);
  if (outcome.endsWith('?')) return infraError(code, { ...route, spendUnknown: true });
  const spent = spend(world, command.input.allowance, priceOf(world) / 2);
  return infraError(code, { ...route, spend: spent });
}

function failedEvent(
  world: World,
  id: string,
  command: AwaitedCommand,
  failure: InfraError,
): UnstampedEvent {
  if (command.type === 'run-subagent')
    return {
      type: 'subagent-ended',
      toolCallId: command.toolCallId,
      end: { type: 'ended', ...cancelledEnd(world, command) },
    };
  if (command.type === 'prepare-run') return { type: 'run-preparation-failed', failure };
  if (command.type !== 'run-tool')
    return { type: activityTable[command.type].failed, callId: id, failure };
  const { toolCallId } = command;
  const isPaused = failure.code === 'store_unavailable';
  learn(world, toolCallId, { last: failure.code, isPaused });
  return { type: 'tool-call-failed', toolCallId, failure };
}

/** The event that this comes back as; what it costs and gives is noted in the world. */
export function eventOf(
  world: World,
  id: string,
  command: AwaitedCommand,
  outcome: string,
): UnstampedEvent {
  const failure = failureOf(world, command, outcome);
  if (failure !== undefined) return failedEvent(world, id, command, failure);
  switch (command.type) {
    case 'prepare-run': {
      world.isPrepared = true;
      const head = world.store.append('', [{ type: 'said', text: 'goal' }]);
      return { type: 'run-prepared', result: { snapshot: world.agent.snapshot, head } };
    }
    case 'hand-over': {
      const { actingAgent: agent = 'other', underway } = command.input;
      const snapshot = { ...world.agent.snapshot, agent };
      return { type: 'handed-over', callId: id, result: { snapshot, head: underway?.head ?? '' } };
    }
    case 'check-guardrails': {
      const words: { readonly [outcome: string]: 'passed' | 'corrected' | 'stopped' } = {
        pass: 'passed',
        correct: 'corrected',
        stop: 'stopped',
      };
      const verdicts = [{ name: 'guard', verdict: words[outcome] ?? 'passed', message: 'because' }];
      return { type: 'guardrails-checked', callId: id, result: { verdicts } };
    }
    case 'call-model':
      return modelEvent(world, command, outcome);
    case 'compact':
      return compactEvent(world, command, outcome);
    case 'run-tool':
      return toolEvent(world, command, outcome);
    case 'check-edit':
      return editEvent(world, command, outcome);
    case 'plan-recovery':
      return planEvent(world, command, outcome);
    case 'run-subagent':
      return subagentEvent(world, command, outcome);
  }
}

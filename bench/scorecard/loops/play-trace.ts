/** Plays a call trace through the real intake of replies and results and through the core, without Temporal or a vendor. */
import { z } from 'zod';
import { createAgentCatalog } from '../../../activities/definitions/agent-catalog';
import type { ResolvedAgent } from '../../../activities/definitions/agent-catalog';
import { resultIdentityOf } from '../../../activities/identity/result-identity';
import type { Store } from '../../../activities/stores/store';
import { takeToolCalls } from '../../../activities/model-call/tool-call-intake';
import { defineTool } from '../../../activities/tools/define-tool';
import type { Tool } from '../../../activities/tools/tool';
import { scriptedProvider } from '../../../testing/scripted-provider';
import type { ProposedToolCall } from '../../../workflows/core/tools/ports';
import type { RunCommand, UnstampedEvent } from '../../../workflows/core/run/protocol';
import type { RunState } from '../../../workflows/core/run/state';
import { initialTransition, transition } from '../../../workflows/core/run/transition';
import { noUsage } from '../../../workflows/core/budget/spend';
import type { CallTrace, TracedCall } from './call-trace';
import { repliesOf } from './call-trace';

/** What became of a played trace. */
export interface PlayedTrace {
  readonly calls: number;
  /** The model was warned of a loop. */
  readonly warned: boolean;
  /** Why the run ended, if it did within the trace. */
  readonly endedBy: string | undefined;
  readonly message: string;
}

/** Every input that the trace gives a tool, taken as it is. */
function toolOf(trace: CallTrace, { name, ...facts }: CallTrace['tools'][number]): Tool {
  const names = new Set(
    trace.blocks.flatMap(({ replies }) =>
      replies.flat().flatMap((call) => (call.tool === name ? Object.keys(call.args) : [])),
    ),
  );
  return defineTool({
    name,
    description: `Tool ${name} of a call trace.`,
    input: z.object(Object.fromEntries([...names].map((key) => [key, z.unknown()]))),
    ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)),
    execute: () => '',
  });
}

function agentOf(trace: CallTrace): ResolvedAgent {
  const name = 'traced';
  const catalog = createAgentCatalog(
    [
      {
        name,
        instructions: 'Follow the trace.',
        chain: [{ provider: 'scripted', model: 'trace', windowTokens: 200_000 }],
        tools: trace.tools.map((tool) => toolOf(trace, tool)),
        limits: { maxIterations: 1_000 },
      },
    ],
    [scriptedProvider('scripted', [])],
  );
  const agent = catalog.agents.get(name);
  if (agent === undefined) throw new Error('a catalog has the agent that it was made of');
  return agent;
}

/** Milliseconds between two events of a played run. */
const eventMs = 200;

class PlayedRun {
  private state: RunState;
  private nowMs = 1_700_000_000_000;
  private readonly commands: RunCommand[] = [];

  constructor(agent: ResolvedAgent) {
    const request = { agent: agent.name, goal: 'follow the trace' };
    const event = { type: 'run-started', runKey: 'trace/1', request, atMs: this.nowMs } as const;
    [this.state] = initialTransition(event);
    const { name, completion, chain, policies, limits, compaction } = agent;
    const snapshot = { agent: name, completion, chain, limits, tools: policies };
    const identity = { definition: 'definition', storeId: 'store', flags: [], compaction };
    this.say({
      type: 'run-prepared',
      result: { head: 'head-0', snapshot: { ...snapshot, ...identity } },
    });
  }

  get iteration(): number {
    return this.state.counters.iterations;
  }

  get played(): Omit<PlayedTrace, 'calls'> {
    const { phase } = this.state;
    const failed = phase.type === 'ended' && phase.outcome.status === 'failed';
    return {
      warned: this.commands.some(
        (command) =>
          command.type === 'publish' &&
          command.entry.type === 'GuardWarnedEvent' &&
          command.entry.message.startsWith('loop'),
      ),
      endedBy: failed ? phase.outcome.reason : undefined,
      message: failed ? phase.outcome.message : '',
    };
  }

  hasEnded(): boolean {
    return this.state.phase.type === 'ended';
  }

  say(event: UnstampedEvent): void {
    this.nowMs += eventMs;
    const [state, commands] = transition(this.state, { ...event, atMs: this.nowMs });
    this.state = state;
    this.commands.push(...commands);
  }

  reply(toolCalls: readonly ProposedToolCall[]): void {
    const { phase } = this.state;
    if (phase.type !== 'calling-model') throw new Error(`the run is ${phase.type}`);
    this.say({
      type: 'model-call-completed',
      callId: phase.callId,
      result: {
        headBefore: 'head',
        head: 'head',
        stopReason: 'tool-use',
        toolCalls,
        textPreview: '',
        usage: noUsage,
        contextTokens: 1_000,
      },
    });
  }
}

function land(run: PlayedRun, tool: Tool, toolCallId: string, call: TracedCall): void {
  const { result } = call;
  run.say({
    type: 'tool-call-completed',
    toolCallId,
    result: {
      result: 'blob',
      preview: '',
      bytes: 1,
      ...resultIdentityOf(tool, call.input, result),
      ...(result.type === 'error' ? { error: result.error } : {}),
    },
  });
}

/** Plays a trace until its end, or until the run ends. */
export async function playTrace(store: Store, trace: CallTrace): Promise<PlayedTrace> {
  const agent = agentOf(trace);
  const run = new PlayedRun(agent);
  let calls = 0;
  for (const reply of repliesOf(trace)) {
    if (run.hasEnded()) break;
    const taken = await takeToolCalls(
      store,
      { agent, config: agent, runId: 'trace' },
      reply.map((call) => ({
        vendorId: '',
        name: call.tool,
        argumentsText: JSON.stringify(call.input),
      })),
      { idPrefix: 'trace', iteration: run.iteration },
    );
    run.reply(taken.map(({ proposed }) => proposed));
    calls += reply.length;
    if (run.hasEnded()) break;
    reply.forEach((call, index) => {
      const toolCallId = taken[index]?.proposed.toolCallId;
      const tool = agent.registry.get(call.tool);
      if (toolCallId === undefined || tool === undefined)
        throw new Error(`trace ${trace.id} calls ${call.tool}, which it does not declare`);
      land(run, tool, toolCallId, call);
    });
  }
  return { calls, ...run.played };
}

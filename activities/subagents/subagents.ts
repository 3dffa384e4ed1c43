/** The feature subagents: tools that are runs of other agents (ADR 0021), or hand the run over to them (ADR 0060). */
import type { AssistantMessage } from '../../workflows/core/message';
import type { RouteConfig } from '../../workflows/core/failover/state';
import type { SubagentAnswer, ToolPolicy } from '../../workflows/core/tools/ports';
import { completeTaskTool } from '../../workflows/core/tools/ports';
import type { Feature } from '../definitions/activity-deps';
import type { ResolvedAgent } from '../definitions/agent-catalog';
import { checkPriced } from '../definitions/checks/check-budget';
import type { Agents } from '../definitions/feature-hooks';
import { guardrailsOf } from '../definitions/guardrail';
import { UserError } from '../lifecycle/user-error';
import { canonicalJson } from '../stores/content-hash';
import type { Store } from '../stores/store';
import { withHandoffTools } from './handoffs';

/** An agent and every agent below it, or that its runs may be handed to, each once. */
function agentsFrom(agent: ResolvedAgent | undefined, agents: Agents): readonly ResolvedAgent[] {
  const seen = new Set<ResolvedAgent>();
  const visit = (one: ResolvedAgent | undefined): void => {
    if (one === undefined || seen.has(one)) return;
    seen.add(one);
    for (const { subagent, handoff } of one.policies) {
      const next = subagent?.agent ?? handoff;
      if (next !== undefined) visit(agents.get(next));
    }
  };
  visit(agent);
  return [...seen];
}

function chainsBelow(agent: ResolvedAgent, agents: Agents): readonly RouteConfig[] {
  return agentsFrom(agent, agents).flatMap(({ chain }) => chain);
}

/** Caps are divided among those who can use them up, so a policy lists the tools of every agent below it. */
function withToolsBelow(policies: readonly ToolPolicy[], agents: Agents): readonly ToolPolicy[] {
  return policies.map((policy) => {
    if (policy.subagent === undefined) return policy;
    const below = agentsFrom(agents.get(policy.subagent.agent), agents);
    const names = below.flatMap((agent) => agent.policies.map(({ name }) => name));
    return { ...policy, subagent: { ...policy.subagent, tools: [...new Set(names)] } };
  });
}

/** A run that is handed over keeps the output guardrails of the agent that it was started with: none may be lost on the way. */
function checkKeptGuardrails(where: string, from: ResolvedAgent, to: ResolvedAgent): void {
  const kept = guardrailsOf(from.guardrails, 'output').map(({ name }) => name);
  const lost = guardrailsOf(to.guardrails, 'output').find(({ name }) => !kept.includes(name));
  if (lost !== undefined)
    throw new UserError(
      `${where}: agent "${to.name}" has the output guardrail "${lost.name}", which a run of "${from.name}" would not check. Give "${from.name}" an output guardrail of that name too.`,
    );
}

function check(agents: Agents): void {
  for (const agent of agents.values()) {
    for (const { name, subagent, handoff } of agent.policies) {
      const next = subagent?.agent ?? handoff;
      if (next === undefined) continue;
      const where = `Agent "${agent.name}", ${handoff === undefined ? 'subagent' : 'handoff'} "${name}"`;
      const other = agents.get(next);
      if (other === undefined)
        throw new UserError(
          `${where}: no agent is called "${next}"; this worker has ${[...agents.keys()].join(', ')}. Give createActivities that agent, or change the name.`,
        );
      if (other.contextSchema !== undefined && agent.contextSchema === undefined)
        throw new UserError(
          `${where}: agent "${other.name}" needs a context, but "${agent.name}" has none to hand down. Give "${agent.name}" a \`context\` schema too.`,
        );
      if (handoff !== undefined) checkKeptGuardrails(where, agent, other);
    }
    const where = `Agent "${agent.name}" with its subagents and handoffs`;
    checkPriced(where, agent.budget, chainsBelow(agent, agents));
  }
}

function answerIn({ blocks }: AssistantMessage): string {
  const parts = blocks.flatMap((block) => {
    if (block.type === 'text') return [block.text];
    if (block.type !== 'tool-call' || block.name !== completeTaskTool) return [];
    const { summary, result } = block.input;
    return [
      ...(typeof summary === 'string' ? [summary] : []),
      ...(result === undefined ? [] : [canonicalJson(result)]),
    ];
  });
  return parts.join('\n\n').trim();
}

/** The last thing that the subagent said, and nothing else of its transcript. */
async function readAnswer(store: Store, { head }: SubagentAnswer): Promise<string> {
  const messages = await store.loadTranscript(head);
  const last = messages.findLast((message) => message.role === 'assistant');
  return last === undefined ? '' : answerIn(last);
}

/** Makes and checks agents' handoffs, checks their subagents, and reads the answers of those. */
export const subagents: Feature = {
  agents: withHandoffTools,
  hooks: () => ({ subagents: { check, chainsBelow, withToolsBelow, readAnswer } }),
};

/** The feature subagents: tools that are runs of other agents (ADR 0021). */
import type { AssistantMessage } from '../../workflows/core/message';
import type { RouteConfig } from '../../workflows/core/failover/state';
import type { SubagentAnswer, ToolPolicy } from '../../workflows/core/tools/ports';
import { completeTaskTool } from '../../workflows/core/tools/ports';
import type { Feature } from '../definitions/activity-deps';
import type { ResolvedAgent } from '../definitions/agent-catalog';
import { checkPriced } from '../definitions/check-budget';
import type { Agents } from '../definitions/feature-hooks';
import { UserError } from '../lifecycle/user-error';
import { canonicalJson } from '../stores/content-hash';
import type { Store } from '../stores/store';

/** An agent and every agent below it, each once. */
function agentsFrom(agent: ResolvedAgent | undefined, agents: Agents): readonly ResolvedAgent[] {
  const seen = new Set<ResolvedAgent>();
  const visit = (one: ResolvedAgent | undefined): void => {
    if (one === undefined || seen.has(one)) return;
    seen.add(one);
    for (const { subagent } of one.policies)
      if (subagent !== undefined) visit(agents.get(subagent.agent));
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

function check(agents: Agents): void {
  for (const agent of agents.values()) {
    for (const { name, subagent } of agent.policies) {
      if (subagent !== undefined && !agents.has(subagent.agent))
        throw new UserError(
          `Agent "${agent.name}", subagent "${name}": no agent is called "${subagent.agent}"; this worker has ${[...agents.keys()].join(', ')}. Give createActivities that agent, or change the name.`,
        );
      const below = subagent && agents.get(subagent.agent);
      if (below?.contextSchema !== undefined && agent.contextSchema === undefined)
        throw new UserError(
          `Agent "${agent.name}", subagent "${name}": agent "${below.name}" needs a context, but "${agent.name}" has none to hand down. Give "${agent.name}" a \`context\` schema too.`,
        );
    }
    const where = `Agent "${agent.name}" with its subagents`;
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

/** Checks agents' subagents and reads their answers. */
export const subagents: Feature = {
  hooks: () => ({ subagents: { check, chainsBelow, withToolsBelow, readAnswer } }),
};

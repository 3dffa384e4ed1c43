/** Programs that tools start could decide approvals themselves: by default, their calls wait for a person (ADR 0040). */
import { nothingPrivileged } from '../tools/privileged-parameters';
import type { AnyTool, Tool, ToolSource } from '../tools/tool';
import { isSource } from './agent-tools';
import type { AgentDefinition } from './agent';
import { checkAgentShape } from './checks/check-definition';

/** Whether a call of the tool can wait for a person. */
function mayAsk(given: AnyTool | ToolSource): boolean {
  const mayHavePrivileged = isSource(given)
    ? given.tools.some(({ privilegedIn }) => privilegedIn !== nothingPrivileged)
    : given.privilegedIn !== nothingPrivileged;
  return given.approval !== 'never' || mayHavePrivileged;
}

/** A tool whose programs run before anybody was asked. */
function isLoose({ runsPrograms, approval }: AnyTool | ToolSource): boolean {
  return runsPrograms === true && approval !== 'always';
}

function asking<Asked extends AnyTool>(tool: Asked): Asked {
  return isLoose(tool) ? { ...tool, approval: 'always', needsApproval: () => true } : tool;
}

/** A server's tools change, so each is taken as it is when it is needed; the same tool gives the same one. */
function askingSource(source: ToolSource): ToolSource {
  const made = new WeakMap<Tool, Tool>();
  const askingOnce = (tool: Tool): Tool => {
    const known = made.get(tool) ?? asking(tool);
    made.set(tool, known);
    return known;
  };
  return {
    name: source.name,
    approval: 'rule',
    runsPrograms: source.runsPrograms,
    get tools() {
      return source.tools.map(askingOnce);
    },
    get problem() {
      return source.problem;
    },
    toolNamed: (name) => askingOnce(source.toolNamed(name)),
  };
}

function allAsking(given: AnyTool | ToolSource): AnyTool | ToolSource {
  if (!isSource(given)) return asking(given);
  return isLoose(given) ? askingSource(given) : given;
}

function namesOf(tools: readonly (AnyTool | ToolSource)[]): string {
  return [...new Set(tools.map(({ name }) => name))].join(', ');
}

function warningOf(
  { name, tools }: AgentDefinition,
  atRisk: readonly (AnyTool | ToolSource)[],
): string {
  const loose = namesOf(tools.filter(isLoose));
  return (
    `Agent "${name}": each call of ${loose} waits for approval, because the programs that it starts could decide the approvals of this worker's agents themselves (${namesOf(atRisk)}). ` +
    "If that is what you want, set programs: 'ask' on the agent. Else run its commands in a sandbox, give createActivities the public keys of approvers, so that decisions must be signed, " +
    "or accept that programs may approve: programs: 'may-approve'. See docs/approvals.md."
  );
}

/**
 * The agents of a worker, with approval of programs where it is needed.
 *
 * Contract: all agents of the worker count, not only the one that has the tool: a program can decide for any run.
 * Errors: `UserError` as `checkAgentShape`.
 */
export function guardPrograms(
  agents: readonly AgentDefinition[],
  isSigned: boolean,
): { readonly agents: readonly AgentDefinition[]; readonly warnings: readonly string[] } {
  agents.forEach(checkAgentShape);
  const atRisk = isSigned ? [] : agents.flatMap(({ tools }) => tools.filter(mayAsk));
  const isImplied = ({ programs, tools }: AgentDefinition): boolean =>
    programs === undefined && atRisk.length > 0 && tools.some(isLoose);
  return {
    agents: agents.map((agent) =>
      agent.programs === 'ask' || isImplied(agent)
        ? { ...agent, tools: agent.tools.map(allAsking) }
        : agent,
    ),
    warnings: agents.filter(isImplied).map((agent) => warningOf(agent, atRisk)),
  };
}

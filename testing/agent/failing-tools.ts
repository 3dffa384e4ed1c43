/** Tools of an agent under test: real ones, which fail where the script says so. */
import type { AgentDefinition } from '../../activities/definitions/agent';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import type { AnyTool, Tool, ToolSource } from '../../activities/tools/tool';
import type { ToolFaultStep } from '../emulator/script';

/** What befalls the next call of a tool. */
type FaultOf = (tool: string) => ToolFaultStep['how'] | undefined;

/** Whether the tool's work is its own function: neither Temporal code, another agent, nor a server's. */
function canFail(tool: AnyTool | ToolSource): tool is AnyTool {
  return (
    'execute' in tool &&
    tool.readEnd === undefined &&
    tool.subagent === undefined &&
    tool.handoff === undefined
  );
}

/** Names of the tools that can fail by script. */
export function failingTools(agents: readonly AgentDefinition[]): ReadonlySet<string> {
  return new Set(agents.flatMap(({ tools }) => tools.filter(canFail).map(({ name }) => name)));
}

/** Ends the attempt as one that the server gave up: what the store has is what a dead worker leaves behind. */
function crash(tool: string, when: string): InfraException {
  const message = `The script let the worker die ${when} the effect of ${tool}.`;
  return new InfraException({ code: 'worker_lost', message });
}

function failing(tool: Tool<never>, faultOf: FaultOf): Tool<never> {
  const execute: Tool['execute'] = async (input, context) => {
    const how = faultOf(tool.name);
    if (how instanceof Error) throw how;
    if (how === 'crash-before-effect') throw crash(tool.name, 'before');
    const output = await tool.execute(input, context);
    if (how === 'crash-after-effect') throw crash(tool.name, 'after');
    return output;
  };
  return { ...tool, execute };
}

/** The agent, with tools that fail where the script says so. */
export function withFailingTools(agent: AgentDefinition, faultOf: FaultOf): AgentDefinition {
  const tools = agent.tools.map((tool) => (canFail(tool) ? failing(tool, faultOf) : tool));
  return { ...agent, tools };
}

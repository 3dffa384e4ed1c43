/** Which tools a run has: the snapshot decides what the model may call; this worker's code runs it. */
import type { JsonObject } from '../../workflows/core/json';
import { defaultTenant } from '../../workflows/core/limits';
import type { RunToolInput } from '../../workflows/core/tools/ports';
import type { ResolvedAgent } from '../definitions/agent-catalog';
import { InfraException } from '../lifecycle/infra-exception';
import type { RunConfig } from '../definitions/run-config';
import { canonicalJson } from '../stores/content-hash';
import type { Store } from '../stores/store';
import { thisWorker } from '../lifecycle/worker-identity';
import { isJsonObject } from '../tools/input-schema';
import type { RunContext, Tool } from '../tools/tool';
import type { StoredOutputs } from '../tool-output/stored-outputs';

/** The parts of a run's definition that concern tools. */
export interface ToolsOfRun {
  readonly config: Pick<RunConfig, 'tools' | 'workspace' | 'tenant' | 'context'>;
  /** The workflow's id. */
  readonly runId: string;
  readonly agent: ResolvedAgent;
  /** What the conversation names that `read_output` can read; absent where it is not known. */
  readonly outputs?: StoredOutputs;
}

/** What a tool's code may know of the run. */
export function runContextOf({ agent, config, runId }: ToolsOfRun): RunContext {
  const { tenant = defaultTenant, workspace, context } = config;
  return { runId, agent: agent.name, tenant, workspace, context };
}

/** This worker's code of a tool. */
function codeOf({ agent }: ToolsOfRun, name: string): Tool | undefined {
  const core = agent.coreTools.find((tool) => tool.name === name);
  return agent.registry.get(name) ?? core ?? agent.absentTool(name);
}

/** Whether the model knows a tool of this name. */
function isToolOfRun({ config }: ToolsOfRun, name: string): boolean {
  return config.tools.some((tool) => tool.name === name);
}

/** Whether this worker can carry out calls of a tool that the run has. */
export function hasCodeFor(definition: ToolsOfRun, name: string): boolean {
  return isToolOfRun(definition, name) && codeOf(definition, name) !== undefined;
}

/**
 * The tool that a call of this run is for.
 *
 * Errors: `worker_mismatch`, which leaves the task to a worker that has the tool.
 */
export function requireTool(definition: ToolsOfRun, name: string): Tool {
  const tool = codeOf(definition, name);
  if (tool !== undefined) return tool;
  throw new InfraException({
    code: 'worker_mismatch',
    message: `${thisWorker()} lacks the tool "${name}" of agent "${definition.agent.name}", which this run was started with. Deploy a worker that has it under that name; until then other workers of the task queue are tried.`,
  });
}

/**
 * The tool that the model means by a name; undefined if the run has no such tool.
 *
 * Contract: a tool that only a later deploy has does not belong to the run.
 * Errors: as `requireTool`.
 */
export function toolOfRun(definition: ToolsOfRun, name: string): Tool | undefined {
  return isToolOfRun(definition, name) ? requireTool(definition, name) : undefined;
}

/**
 * The hint for a call that this worker's schema refuses.
 *
 * Contract: the schema of the code decides, since `execute` accepts nothing else. If the model knows another one, it
 * hears that this is out of date, so that it goes by the problems.
 */
export function refusedInputHint(
  { config }: ToolsOfRun,
  tool: Tool,
  hint: string | undefined,
): string | undefined {
  const snapshot = config.tools.find(({ name }) => name === tool.name);
  if (
    snapshot === undefined ||
    canonicalJson(snapshot.inputSchema) === canonicalJson(tool.inputSchema)
  )
    return hint;
  const changed = `The schema of ${tool.name} that you were given is out of date: the tool has changed since this run started. Follow this message.`;
  return hint === undefined ? changed : `${changed} ${hint}`;
}

/**
 * The input of a call, which large ones keep in the store.
 *
 * Errors: `store_corrupt`, and those of the store.
 */
export async function inputOf(
  store: Store,
  input: Pick<RunToolInput, 'toolCallId' | 'input' | 'inputBlob'>,
): Promise<JsonObject> {
  if (input.inputBlob === undefined) return input.input ?? {};
  const value: unknown = JSON.parse((await store.getBlob(input.inputBlob)).toString('utf8'));
  if (isJsonObject(value)) return value;
  throw new InfraException({
    code: 'store_corrupt',
    message: `The stored input ${input.inputBlob} of tool call ${input.toolCallId} is not a JSON object.`,
  });
}

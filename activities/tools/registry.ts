/** The tools of an agent by name. */
import { UserError } from '../lifecycle/user-error';
import { reservedToolNames } from './built-in-tools';
import { checkToolName } from './define-tool';
import type { Tool } from './tool';

/** Tools in one request that OpenAI accepts; more get 400 (`array_above_max_length`). Two are the runtime's own. */
const maxTools = 128 - reservedToolNames.length;

/** Finds tools by name. */
export interface ToolRegistry {
  get(name: string): Tool | undefined;
  list(): readonly Tool[];
}

/**
 * Makes a registry.
 *
 * Errors: `UserError` for a name twice, a name of the runtime's own, a name that vendors refuse, more tools than they accept.
 */
export function createToolRegistry(tools: readonly Tool[]): ToolRegistry {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    checkToolName(tool.name);
    if (reservedToolNames.includes(tool.name)) {
      throw new UserError(
        `Tool name "${tool.name}" belongs to the runtime; give your tool another name.`,
      );
    }
    if (byName.has(tool.name)) {
      throw new UserError(
        `Two tools are named "${tool.name}"; names must differ, since the model calls tools by name.`,
      );
    }
    byName.set(tool.name, tool);
  }
  if (byName.size > maxTools) {
    throw new UserError(
      `${byName.size} tools are more than the ${maxTools} that OpenAI accepts; give the agent fewer.`,
    );
  }
  return { get: (name) => byName.get(name), list: () => [...byName.values()] };
}

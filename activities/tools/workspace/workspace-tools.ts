/** The built-in tools for files and programs of a run's workspace. */
import { z } from 'zod';
import { checkOptions } from '../../lifecycle/check-options';
import type { Tool } from '../tool';
import { deleteFile } from './delete-file';
import { editFile } from './edit-file';
import { listFiles } from './list-files';
import { readFile } from './read-file';
import { runCommand } from './commands/run-command';
import type { RunCommandOptions } from './commands/run-command';
import { searchFiles } from './search-files';
import { writeFile } from './write-file';

/** Which workspace tools an agent gets, and their limits. */
export interface WorkspaceToolsOptions {
  /** Leave out the tools that change files. Default false. */
  readonly isReadOnly?: boolean;
  /** How commands run; false leaves `run_command` out. Default: without a shell. */
  readonly commands?: RunCommandOptions | false;
  /** Calls per run, by tool. Defaults: R-GUARD-4. */
  readonly maxCalls?: Readonly<Record<string, number>>;
  /** Tools that need a person's approval for every call. */
  readonly approval?: readonly ('edit_file' | 'write_file' | 'delete_file')[];
  /**
   * A person approves changes of files that programs run later without being asked: hooks, CI jobs, configuration of editors,
   * shells and package managers, installed packages. Default true.
   */
  readonly asksFirst?: boolean;
}

const toolNames = [
  ...['list_files', 'search_files', 'read_file', 'edit_file', 'write_file', 'delete_file'],
  'run_command',
];
const flag = z.boolean({ error: 'give true or false' }).optional();
const shape = z.strictObject({
  isReadOnly: flag,
  // Checked by `runCommand`.
  commands: z.unknown().optional(),
  maxCalls: z
    .partialRecord(z.enum(toolNames), z.int().min(1), {
      error: `give whole numbers by tool, such as { run_command: 5 }; the tools are ${toolNames.join(', ')}`,
    })
    .optional(),
  approval: z.array(z.enum(['edit_file', 'write_file', 'delete_file'])).optional(),
  asksFirst: flag,
});
const known = Object.keys(shape.shape).join(', ');

/**
 * `list_files`, `search_files`, `read_file`, `edit_file`, `write_file`, `delete_file`, `run_command`.
 *
 * Contract: all but `run_command` stay inside the run's workspace, links included, and out of git's own folders, Holdfast's state,
 * store, agents' file and code.
 */
export function workspaceTools(options: WorkspaceToolsOptions = {}): readonly Tool[] {
  checkOptions('workspaceTools', '', shape, options, `Known options: ${known}.`);
  const changing = options.isReadOnly === true ? [] : [editFile, writeFile, deleteFile];
  const commands = options.commands === false ? [] : [runCommand(options.commands)];
  const asks: ReadonlySet<string> = new Set(options.approval ?? []);
  const asksFirst = options.asksFirst ?? true;
  return [listFiles, searchFiles, readFile, ...changing, ...commands].map((tool) => ({
    ...tool,
    ...(!asksFirst &&
      changing.includes(tool) && { approval: 'never' as const, needsApproval: () => false }),
    maxCalls: options.maxCalls?.[tool.name] ?? tool.maxCalls,
    ...(asks.has(tool.name) && { approval: 'always' as const, needsApproval: () => true }),
  }));
}

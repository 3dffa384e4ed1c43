/** The workspace of a run, for tools that need one. */
import { InfraException } from '../../lifecycle/infra-exception';
import type { ToolContext } from '../tool';

/**
 * Absolute path of the run's workspace.
 *
 * Errors: `InfraException` `workspace_missing` if the run was started without one.
 */
export function workspaceOf(context: ToolContext): string {
  if (context.workspace === undefined) {
    throw new InfraException({
      code: 'workspace_missing',
      message:
        'The agent has workspace tools but the run has no workspace; start it with the option workspace (an absolute path).',
    });
  }
  return context.workspace;
}

/** A tool context and a workspace on disk for tests of tools. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ApprovalContext, RunContext, Tool, ToolContext } from '../../activities/tools/tool';
import { ToolError } from '../../activities/tools/tool-error';

/** A run without workspace and context. */
const anyRun: RunContext = {
  runId: 'run',
  agent: 'helper',
  tenant: 'default',
  workspace: undefined,
  context: undefined,
};

/** A context with harmless defaults. */
export function toolContext(given: Partial<ToolContext> = {}): ToolContext {
  return {
    toolCallId: 'run_1_0',
    idempotencyKey: 'key-1',
    ...anyRun,
    signal: new AbortController().signal,
    attempt: 1,
    progress: () => undefined,
    readBlob: () => Promise.reject(new Error('no blob in this test')),
    ...given,
  };
}

/** What an approval rule is told, with harmless defaults. */
export function approvalContext(given: Partial<ApprovalContext> = {}): ApprovalContext {
  return {
    tool: 'tool',
    toolCallId: 'run_1_0',
    ...anyRun,
    iteration: 1,
    ...given,
  };
}

/** A folder that exists until `remove`. */
export interface TestWorkspace {
  /** The workspace, with a folder beside it that nothing may reach. */
  readonly root: string;
  readonly outside: string;
  readonly context: ToolContext;
  remove(): void;
}

/** Makes a workspace with files by relative path, and a secret outside of it. */
export function makeWorkspace(
  files: Readonly<Record<string, string | Buffer>> = {},
): TestWorkspace {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-test-')));
  const root = join(base, 'ws');
  const outside = join(base, 'outside');
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.txt'), 'OUTSIDE');
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return {
    root,
    outside,
    context: toolContext({ workspace: root }),
    remove: () => {
      rmSync(base, { recursive: true, force: true });
    },
  };
}

/** Parses and executes, as the runtime does; a parse problem is thrown as `ToolError` too. */
export async function callTool(tool: Tool, input: unknown, context: ToolContext): Promise<string> {
  const parsed = tool.parse(input);
  if (!parsed.ok) {
    throw new ToolError(parsed.problems.join('; '), { code: 'invalid_params' });
  }
  return String(await tool.execute(parsed.value, context));
}

/** The `ToolError` that a call ends with; fails if there is none. */
export async function toolErrorOf(call: Promise<unknown>): Promise<ToolError> {
  try {
    await call;
  } catch (thrown) {
    if (thrown instanceof ToolError) {
      return thrown;
    }
    throw thrown;
  }
  throw new Error('the call was expected to fail and did not');
}

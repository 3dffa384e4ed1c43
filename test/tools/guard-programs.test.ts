/** Programs that could decide approvals themselves: their calls wait for a person, unless the definition says otherwise. */
import { generateKeyPairSync } from 'node:crypto';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { isSource } from '../../activities/definitions/agent-tools';
import { guardPrograms } from '../../activities/definitions/guard-programs';
import { createActivities } from '../../activities/index';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool, ToolDefinition } from '../../activities/tools/tool';
import { runCommand } from '../../activities/tools/workspace/commands/run-command';
import { workspaceTools } from '../../activities/tools/workspace/workspace-tools';
import { publicKeyText } from '../../client/approval-key';
import { scriptedProvider } from '../../testing/scripted-provider';
import { temporaryStore } from '../support/temporary-store';
import { approvalContext } from './tool-context';

const plain = (name: string, more: Partial<ToolDefinition> = {}): Tool =>
  defineTool({
    name,
    description: 'Does it.',
    input: z.object({ what: z.string().optional() }),
    execute: () => 'done',
    ...more,
  });
const agent = (tools: readonly Tool[], more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  name: 'coder',
  instructions: 'You code.',
  chain: [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }],
  tools,
  ...more,
});

const refund = plain('refund', { approval: 'always' });
const privileged = plain('fetch', {
  input: z.object({ admin: z.boolean().optional().meta({ privileged: true }) }),
});
const loose = [plain('look'), runCommand()];

/** Names of the tools that ask before every call. */
function asking(agents: readonly AgentDefinition[], isSigned = false): readonly string[] {
  const guarded = guardPrograms(agents, isSigned).agents;
  const names = guarded.flatMap(({ tools }) =>
    tools.flatMap((tool) => {
      if (isSource(tool)) return tool.approval === 'always' ? [tool.name] : [];
      const { name, approval } = tool;
      const asks = tool.needsApproval({ command: 'ls' }, approvalContext());
      expect(asks).toBe(approval === 'always');
      return asks ? [name] : [];
    }),
  );
  return names;
}

describe('each call of run_command waits for approval', () => {
  test.each<readonly [string, readonly AgentDefinition[]]>([
    ['beside a tool that always asks', [agent([...loose, refund])]],
    ['beside a rule', [agent([...loose, plain('pay', { approval: () => false })])]],
    ['beside a privileged parameter', [agent([...loose, privileged])]],
    [
      'beside a subagent that asks',
      [
        agent([
          ...loose,
          defineSubagent({ name: 'ask', description: 'Asks.', agent: 'coder', approval: 'always' }),
        ]),
      ],
    ],
    [
      'by a rule of its own, which the programs that it lets pass could decide',
      [agent([runCommand({ approval: (input) => !JSON.stringify(input).includes('npm test') })])],
    ],
    ['in the workspace tools as they are', [agent(workspaceTools())]],
    [
      'beside another agent of the worker that asks',
      [agent(loose), agent([refund], { name: 'refunder' })],
    ],
    ['because its author wants it', [agent(loose, { programs: 'ask' })]],
  ])('%s', (_what, agents) => {
    expect(asking(agents)).toContain('run_command');
    const { warnings } = guardPrograms(agents, false);
    expect(warnings).toHaveLength(agents[0]?.programs === 'ask' ? 0 : 1);
  });
});

describe('run_command asks nobody', () => {
  test.each<readonly [string, boolean, readonly AgentDefinition[]]>([
    ['where nothing is ever approved', false, [agent(workspaceTools({ asksFirst: false }))]],
    ['where decisions are signed', true, [agent([...loose, refund])]],
    [
      'where its author accepts that programs approve',
      false,
      [agent([...loose, refund], { programs: 'may-approve' })],
    ],
    [
      'where it starts no program that reaches Temporal',
      false,
      [agent([{ ...runCommand(), runsPrograms: false }, refund])],
    ],
  ])('%s', (_what, isSigned, agents) => {
    expect(asking(agents, isSigned)).not.toContain('run_command');
    expect(guardPrograms(agents, isSigned).warnings).toEqual([]);
  });
});

test('any tool that declares it counts, and its other properties stay', () => {
  const shell = plain('shell', { runsPrograms: true, effect: 'read', maxCalls: 3 });
  const [guarded] = guardPrograms([agent([shell, refund])], false).agents;
  expect(guarded?.tools[0]).toMatchObject({ effect: 'read', maxCalls: 3, approval: 'always' });
});

test('an agent that asks for approval of its programs alone needs no warning', () => {
  const agents = [agent([plain('look'), runCommand({ approval: 'always' })])];
  expect(guardPrograms(agents, false)).toEqual({ agents, warnings: [] });
});

test('the warning names agent, tools, what is at risk, and every choice', () => {
  const [warning] = guardPrograms(
    [agent(workspaceTools({ approval: ['delete_file'] }))],
    false,
  ).warnings;
  for (const part of [
    'Agent "coder"',
    'each call of run_command waits for approval',
    'edit_file, write_file, delete_file',
    "programs: 'ask'",
    'sandbox',
    'approvers',
    "programs: 'may-approve'",
  ])
    expect(warning).toContain(part);
});

test('the worker itself applies it: in the policies of a run, and as a warning of the process', async () => {
  const stored = await temporaryStore();
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation();
  try {
    const prepare = async (more: object): Promise<unknown> => {
      const activities = createActivities({
        store: stored.store,
        providers: [scriptedProvider('scripted', [])],
        agents: [agent([...loose, refund])],
        ...more,
      });
      const { snapshot } = await activities.prepareRun({ flags: [], agent: 'coder', goal: 'Go.' });
      return snapshot.tools.find(({ name }) => name === 'run_command')?.approval;
    };
    expect(await prepare({})).toBe('always');
    expect(warn.mock.calls).toEqual([[expect.stringContaining('run_command'), 'HoldfastWarning']]);
    const approvers = [publicKeyText(generateKeyPairSync('ed25519').privateKey)];
    expect(await prepare({ approvers })).toBe('never');
    expect(warn).toHaveBeenCalledTimes(1);
  } finally {
    warn.mockRestore();
    await stored.dispose();
  }
});

test.each(['no', true, 'may_approve'])('programs: %p is refused with what to write', (programs) => {
  const wrong = agent(loose, { programs: programs as 'ask' });
  expect(() => guardPrograms([wrong], false)).toThrow(
    /Agent "coder": programs: give 'ask' or 'may-approve'/,
  );
});

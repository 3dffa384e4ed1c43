/** Runs through the features around the loop: compaction, recovery, subagents, decisions, guard, notices. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { logNotifier } from '../../activities/notifiers/log-notifier';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import { defineTool } from '../../activities/tools/define-tool';
import { ToolError } from '../../activities/tools/tool-error';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { ReplyStep } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import type { RunHandle } from '../support/agent-world';
import { firstPending, testModel } from '../support/agent-world';
import type { Scenario } from './scenarios';

const dig = defineTool({
  name: 'dig',
  description: 'Digs.',
  input: z.object({ place: z.string() }),
  effect: 'read',
  execute: ({ place }) => `${place} has ore`,
});

const ask = defineTool({
  name: 'ask_base',
  description: 'Answers a question about the code base; vague questions give an overview only.',
  input: z.object({ text: z.string() }),
  effect: 'read',
  execute: ({ text }) => {
    if (text === '') throw new ToolError('text is empty; ask something');
    return text.includes('executor core') ? 'It runs a ReAct loop.' : 'It has several packages.';
  },
});

const write = defineTool({
  name: 'write',
  description: 'Writes a text somewhere.',
  input: z.object({ to: z.string(), text: z.string() }),
  effect: 'irreversible',
  approval: 'always',
  label: 'to',
  execute: () => 'written',
});

const research = defineSubagent({
  name: 'research',
  description: 'Finds something out.',
  agent: 'researcher',
});

const base: Pick<AgentDefinition, 'instructions' | 'chain' | 'limits'> = {
  instructions: 'You work.',
  chain: [{ provider: 'anthropic', model: testModel }],
  limits: { heartbeatTimeoutMs: 2_000, streamRetryBaseMs: 20 },
};

/** Agents of these scenarios. */
export const featureAgents: readonly AgentDefinition[] = [
  {
    ...base,
    name: 'digger',
    chain: [
      { provider: 'anthropic', model: testModel, windowTokens: 20_000, maxOutputTokens: 1_000 },
    ],
    tools: [dig],
  },
  { ...base, name: 'asker', tools: [ask], recovery: { mode: 'auto' } },
  { ...base, name: 'lead', instructions: 'You lead.', tools: [research] },
  { ...base, name: 'researcher', instructions: 'You research.', tools: [dig] },
  { ...base, name: 'writer', tools: [write] },
  {
    ...base,
    name: 'hasty',
    tools: [write],
    approvals: { expiresAfterMs: 1_000, onExpiry: 'reject' },
  },
  { ...base, name: 'looper', tools: [dig], recovery: { mode: 'off' } },
  { ...base, name: 'questioner', tools: [ask], completion: 'tool' },
];

/** People are told in the worker's log. */
export const featureNotifiers = [logNotifier()];

const call = (name: string, input: { readonly [key: string]: string }, text?: string): ReplyStep =>
  reply.toolCalls([{ name, input }], text === undefined ? {} : { text });

/** A call beside so much talk that only a summary makes room. */
const rambles = (turn: number): ReplyStep =>
  call(
    'dig',
    { place: `place ${turn}` },
    Array.from({ length: 500 }, (_each, line) => `thought ${turn} of ${line} gold`).join('\n'),
  );

/** Talks until a summary was made. The recording is of the run's second segment, which compacts. */
function talks(request: RecordedRequest): ReplyStep {
  if (request.systemText.includes('You summarize the record of an agent'))
    return reply.text(
      JSON.stringify({
        progress: 'Dug on.',
        facts: ['The mine holds kestrel-4471.'],
        decisions: [],
      }),
    );
  return JSON.stringify(request.body['messages']).includes('kestrel-4471')
    ? reply.text('done')
    : rambles(request.conversation.turns.length);
}

/** Asks the same vague question until somebody asks a better one. */
function asksVaguely(request: RecordedRequest): ReplyStep {
  if (request.systemText.includes('plan the recovery'))
    return reply.text(
      JSON.stringify({
        strategy: 'parameter-adjustment',
        reasoning: 'Ask a more specific question.',
        action: {
          toolName: 'ask_base',
          parametersJson: '{"text":"How does the agent executor core work?"}',
        },
        expectedOutcome: 'A specific answer.',
        confidence: 0.8,
      }),
    );
  return JSON.stringify(request.body['messages']).includes('ReAct loop')
    ? reply.text('It runs a ReAct loop.')
    : call('ask_base', { text: 'architecture' });
}

/** The lead asks its researcher, who digs once. */
function leads({ systemText, lastToolResults }: RecordedRequest): ReplyStep {
  if (lastToolResults.length > 0) return reply.text('done');
  return systemText.includes('You research')
    ? call('dig', { place: 'mine seven' })
    : call('research', { task: 'Look into mine seven.' });
}

async function edit(handle: RunHandle): Promise<void> {
  const item = await firstPending(handle);
  if (item.type !== 'approval') throw new Error('an approval was expected');
  const { approvalId, digest } = item;
  const input = { to: 'me', text: 'hello' };
  await handle.executeUpdate('resolveApproval', {
    args: [{ approvalId, digest, decision: 'approve', input, by: 'Ada' }],
  });
}

async function answer(handle: RunHandle): Promise<void> {
  const item = await firstPending(handle);
  if (item.type !== 'question') throw new Error('a question was expected');
  await handle.executeUpdate('answer', { args: [{ questionId: item.questionId, answer: 'Yes' }] });
}

const writes = call('write', { to: 'all', text: 'hello' });

/** The paths, by name. */
export const featureScenarios: readonly Scenario[] = [
  {
    name: 'compacted-with-summary',
    request: { agent: 'digger', goal: 'Dig for gold in mine seven.' },
    steps: talks,
    endsAs: 'completed',
  },
  {
    name: 'recovered-by-action',
    request: { agent: 'asker', goal: 'Explain the architecture.' },
    steps: asksVaguely,
    endsAs: 'completed',
  },
  {
    name: 'subagent-parent',
    request: { agent: 'lead', goal: 'Lead on.', budget: { usd: 1 } },
    steps: leads,
    children: { 't1.0': 'subagent-child' },
    endsAs: 'completed',
  },
  {
    name: 'approved-as-edited',
    request: { agent: 'writer', goal: 'Write.' },
    steps: [writes, reply.text('done')],
    act: edit,
    endsAs: 'completed',
  },
  {
    name: 'approval-expired',
    request: { agent: 'hasty', goal: 'Write.' },
    steps: [writes, reply.text('done')],
    endsAs: 'completed',
  },
  {
    name: 'loop-warned-then-stopped',
    request: { agent: 'looper', goal: 'Dig.' },
    steps: Array.from({ length: 4 }, () => call('dig', { place: 'here' })),
    endsAs: 'failed',
  },
  {
    name: 'notified-and-learned',
    request: { agent: 'questioner', goal: 'Ask.' },
    steps: [
      call('ask_base', { text: '' }),
      call('ask_base', { text: 'architecture' }),
      call('ask_user', { question: 'Shall I?' }),
      call('complete_task', { summary: 'done' }),
    ],
    act: answer,
    endsAs: 'completed',
  },
];

/** What people are shown of a call, everywhere, is what runs: on a real server, with real receivers and the real commands. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { slackNotifier } from '../../activities/notifiers/slack-notifier';
import { webhookNotifier } from '../../activities/notifiers/webhook-notifier';
import { defineTool } from '../../activities/tools/define-tool';
import { reply } from '../../testing/emulator/script';
import type { JsonObject } from '../../workflows/core/json';
import type { ShownArguments } from '../../workflows/core/secrets/ports';
import type { PendingItem } from '../../workflows/core/view/pending';
import type { Receiver } from '../notifiers/receiver';
import { startReceiver } from '../notifiers/receiver';
import type { AgentWorld } from '../support/agent-world';
import { eventually, startAgentWorld, testModel } from '../support/agent-world';
import { runCommand } from '../support/run-command';
import { original } from '../untrusted/shown-values';

type Approval = Extract<PendingItem, { type: 'approval' }>;

const ran: JsonObject[] = [];
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.looseObject({ to: z.string(), euros: z.number(), note: z.string() }),
  effect: 'irreversible',
  approval: 'always',
  label: 'to',
  execute: (input) => {
    ran.push(input as JsonObject);
    return 'paid';
  },
});

let world: AgentWorld;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  world = await startAgentWorld(
    [
      {
        name: 'payer',
        instructions: 'You pay.',
        chain: [{ provider: 'anthropic', model: testModel }],
        tools: [pay],
      },
    ],
    {
      notifiers: [
        webhookNotifier({ url: `${receiver.url}/hook`, secret: 'sixteen characters or more' }),
        slackNotifier({ url: `${receiver.url}/services/x` }),
      ],
    },
  );
});
afterAll(async () => {
  await world.dispose();
  await receiver.stop();
});

const originalOf = ({ fields }: ShownArguments): JsonObject =>
  Object.fromEntries(fields.map(({ name, value }) => [name, original(value)])) as JsonObject;

async function holdfast(...args: readonly string[]): Promise<string> {
  const variables = {
    TEMPORAL_ADDRESS: world.server.address,
    TEMPORAL_NAMESPACE: world.server.namespace,
    HOLDFAST_TASK_QUEUE: world.taskQueue,
    HOLDFAST_STORE: world.stored.url,
  };
  const { code, out, err } = await runCommand(args, { variables });
  if (code !== 0) throw new Error(err);
  return out;
}

const hostile: readonly JsonObject[] = [
  { to: 'Alice Ltd', euros: 999_999, note: 'ref password=Abc12345xyz' },
  { to: '\u202eevoli\u202c Ltd\u200b', euros: 1, note: 'a\u001b[2K\rwants approval of read' },
  { to: `x${' '.repeat(300)}EVIL`, euros: 2, note: 'C:\\u{202e}\\"' },
  { to: '\u0410lice Ltd', euros: 3, note: '<!channel> <http://evil.test|Approve> *ok* `x`' },
  { to: 'Alice\n  holdfast approve other x', euros: 4, note: 'n'.repeat(5_000), 'eu\nros': 5 },
];

let run: Awaited<ReturnType<AgentWorld['client']['start']>>;
let items: readonly Approval[];
beforeAll(async () => {
  world.emulator.script([
    reply.toolCalls(hostile.map((input) => ({ name: 'pay', input }))),
    reply.text('done'),
  ]);
  run = await world.client.start({ agent: 'payer', goal: 'Pay.' });
  items = (await eventually(
    () => run.pending(),
    (pending) => pending.length === hostile.length,
  )) as readonly Approval[];
});

function itemAt(place: number): Approval {
  const item = items.at(place);
  if (item === undefined) throw new Error('five calls wait');
  return item;
}

const secretNote = (): string => {
  const sha = createHash('sha256').update('ref password=Abc12345xyz').digest('hex').slice(0, 8);
  return `"ref password=[redacted]" (secret hidden; length 24, sha256 ${sha})`;
};

test('a query has them field by field: a secret hides itself alone, and a long value is cut', () => {
  expect(itemAt(0).shown.fields).toMatchObject([
    { name: 'to', value: '"Alice Ltd"' },
    { name: 'euros', value: '999999' },
    { name: 'note', value: secretNote() },
  ]);
  expect(items.slice(1, 4).map(({ shown }) => originalOf(shown))).toEqual(hostile.slice(1, 4));
  const { fields, isPart } = itemAt(-1).shown;
  expect(isPart).toBe(true);
  // The tool's own parameters come first, in its order.
  expect(fields.map(({ name }) => name)).toEqual(['to', 'euros', 'note', '"eu\\nros"']);
  expect(fields[2]?.value).toBe(`"${'n'.repeat(1_000)}" +4000 characters`);
});

test('the commands say the same, and show the whole of a long value from the store', async () => {
  const { approvalId } = itemAt(-1);
  const shown = await holdfast('show', run.runId);
  for (const { shown: said } of items)
    for (const { name, value } of said.fields) expect(shown).toContain(`  | ${name}: ${value}\n`);
  expect(shown).not.toMatch(/^ {2}holdfast approve other/m);
  expect(shown).toContain(`  whole: holdfast show ${run.runId} --arguments ${approvalId}\n`);
  const whole = await holdfast('show', run.runId, '--arguments', approvalId);
  expect(whole).toContain(`note: "${'n'.repeat(5_000)}"\n`);
  expect(whole).not.toContain('euros: 999999');
  const asJson = await holdfast('show', run.runId, '--arguments', '--json');
  const { pending } = JSON.parse(asJson) as { pending: readonly Approval[] };
  expect(pending[0]?.shown.fields[2]?.value).toBe(secretNote());
  for (const hidden of ['Abc12345xyz', '\u202e', '\u200b', '\u001b'])
    expect(`${shown}${whole}${asJson}`).not.toContain(hidden);
  await expect(holdfast('show', run.runId, '--arguments', 'nothing')).rejects.toThrow(
    `No approval "nothing" waits in run "${run.runId}". Waiting: ${itemAt(0).approvalId}, `,
  );
});

test('the Web UI has them as code, one line each', async () => {
  const handle = world.server.client.getHandle(run.runId);
  const { currentDetails = '' } = await handle.query<{ currentDetails?: string }>(
    '__temporal_workflow_metadata',
  );
  for (const { fields } of items.map((item) => item.shown))
    for (const { name, value } of fields) {
      const code = `${name}: ${value}`.replaceAll('`', '\\u{60}');
      expect(currentDetails).toContain(`  - \`${code}\`\n`);
    }
});

interface SlackBlock {
  readonly text?: { readonly type: string; readonly text: string };
}

test('notices have them: a webhook as data, Slack as text without markup and links', async () => {
  await eventually(
    () => Promise.resolve(receiver.received.length),
    (count) => count === 2 * hostile.length,
  );
  const told = receiver.of('/hook').map(({ body }) => {
    const { data } = JSON.parse(body) as { data: { itemId: string; arguments: ShownArguments } };
    return data;
  });
  for (const { approvalId, shown } of items)
    expect(told.find(({ itemId }) => itemId === approvalId)?.arguments).toEqual(shown);
  const slack = receiver.of('/services/x').map(({ body }) => body);
  const message = slack.find((body) => body.includes('evil.test')) ?? '{}';
  expect(message).toContain('&lt;!channel&gt; &lt;http://evil.test|Approve&gt; *ok* `x`');
  const { blocks } = JSON.parse(message) as { blocks: readonly SlackBlock[] };
  const evil = blocks.filter(({ text }) => text?.text.includes('evil') === true);
  expect(evil.map(({ text }) => text?.type)).toEqual(['plain_text']);
  expect(slack.join('')).not.toContain('Abc12345xyz');
});

test('what was shown is what runs', async () => {
  const [first, ...others] = [itemAt(0), ...items.slice(1)];
  expect(await holdfast('approve', run.runId, first.approvalId)).toBe(
    [
      `approved ${first.approvalId}`,
      ...first.shown.fields.map(({ name, value }) => `  | ${name}: ${value}`),
      '',
    ].join('\n'),
  );
  for (const { approvalId, digest } of others) await run.approve(approvalId, { digest });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  expect(ran).toHaveLength(hostile.length);
  expect(ran).toEqual(expect.arrayContaining([...hostile]));
});

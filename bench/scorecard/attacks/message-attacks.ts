/** Callers of the client, and of Temporal itself, that give what nobody should give. */
import { ClientError } from '../../../client/index';
import { signalNames, updateNames } from '../../../workflows/contract';
import { z } from 'zod';
import { reply } from '../../../testing/emulator/script';
import { defineTool } from '../../../activities/tools/define-tool';
import type { StartOptions } from '../../../client/index';
import type { ProviderWorld } from '../provider/provider-world';
import type { DirectAttack, RunAttack } from './attack';
import { historyText } from './attack';

/** What is given to `start`; each must be refused before anything is started. */
const starts: Readonly<Record<string, Partial<Record<keyof StartOptions, unknown>>>> = {
  'a goal of ten megabytes': { goal: 'x'.repeat(10_000_000) },
  'an empty goal': { goal: ' \n' },
  'a goal that is an object': { goal: { toString: 'x' } },
  'an agent of a megabyte': { agent: 'x'.repeat(1_000_000) },
  'an id with line ends': { runId: 'a\nb' },
  'an id that hides': { runId: 'a\u202eb' },
  'limits below zero': { limits: { maxIterations: -1 } },
  'limits that are no numbers': { limits: { maxIterations: Number.NaN } },
  'limits without end': { limits: { maxIterations: Number.POSITIVE_INFINITY } },
  'a budget below zero': { budget: { usd: -5 } },
  'a limit by prototype': { limits: JSON.parse('{"__proto__":{"maxIterations":1},"x":1}') },
  'a tenant of a megabyte': { tenant: 'x'.repeat(1_000_000) },
};

const startAttacks = Object.entries(starts).map(([name, given]): DirectAttack => ({
  area: 'messages',
  id: `start with ${name}`,
  tries: `to start a run with ${name}`,
  attempt: async ({ client }) => {
    try {
      const run = await client.start({ agent: 'attack-none', goal: 'x', ...given } as StartOptions);
      await run.cancel();
      return 'it was started';
    } catch (thrown) {
      return thrown instanceof ClientError && thrown.code === 'invalid-input'
        ? undefined
        : `it failed otherwise: ${String(thrown)}`;
    }
  },
}));

const pay = (paid: string[]) =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({ to: z.string() }),
    effect: 'irreversible',
    approval: 'always',
    execute: ({ to }) => {
      paid.push(to);
      return 'paid';
    },
  });

type Handle = ReturnType<ProviderWorld['temporal']['workflow']['getHandle']>;

/** What reaches Temporal past the client while a payment waits. */
const raw: Readonly<
  Record<string, (handle: Handle, digest: string, id: string) => Promise<unknown>>
> = {
  'approves another digest': (handle, _digest, approvalId) =>
    handle.executeUpdate(updateNames.resolveApproval, {
      args: [{ approvalId, digest: 'x'.repeat(43), decision: 'approve' }],
    }),
  'approves without a digest': (handle, _digest, approvalId) =>
    handle.executeUpdate(updateNames.resolveApproval, {
      args: [{ approvalId, decision: 'approve' }],
    }),
  'approves by a prototype': (handle, digest) =>
    handle.executeUpdate(updateNames.resolveApproval, {
      args: [{ approvalId: '__proto__', digest, decision: 'approve' }],
    }),
  'decides something else': (handle, digest, approvalId) =>
    handle.executeUpdate(updateNames.resolveApproval, {
      args: [{ approvalId, digest, decision: 'approve-all' }],
    }),
  'sends nothing': (handle) => handle.executeUpdate(updateNames.resolveApproval, { args: [] }),
  'sends a list': (handle) => handle.executeUpdate(updateNames.resolveApproval, { args: [[1, 2]] }),
  'sends nulls': (handle) => handle.executeUpdate(updateNames.answer, { args: [null] }),
  'sends an unknown update': (handle) => handle.executeUpdate('approveAll', { args: [{}] }),
  'signals a decision': (handle, digest, approvalId) =>
    handle.signal(updateNames.resolveApproval, { approvalId, digest, decision: 'approve' }),
  'signals numbers': (handle) => handle.signal(signalNames.addMessage, 7),
  'signals nothing': (handle) => handle.signal(signalNames.escalate),
  'signals a megabyte': (handle) =>
    handle.signal(signalNames.addMessage, { text: 'x'.repeat(1_000_000) }),
  'signals objects for texts': (handle) =>
    handle.signal(signalNames.addMessage, { text: { toString: 'x' }, by: ['a'] }),
  'signals three hundred messages': (handle) =>
    Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        handle.signal(signalNames.addMessage, { text: `message ${n} ${'x'.repeat(2_000)}` }),
      ),
    ),
};

const rawAttacks = Object.entries(raw).map(([name, send]): RunAttack => {
  const paid: string[] = [];
  return {
    area: 'messages',
    id: name,
    tries: `to have a payment made, or the run fail: a caller ${name}`,
    agent: () => ({ tools: [pay(paid)] }),
    calls: () => [{ name: 'pay', input: { to: 'mallory' } }],
    meanwhile: async (run, world) => {
      let item = (await run.pending()).find(({ type }) => type === 'approval');
      for (let looks = 0; item === undefined && looks < 300; looks += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        item = (await run.pending()).find(({ type }) => type === 'approval');
      }
      if (item?.type !== 'approval') throw new Error('nothing waited');
      const handle = world.temporal.workflow.getHandle(run.runId);
      await send(handle, item.digest, item.approvalId).catch(() => undefined);
    },
    harm: ({ outcome }) => {
      if (paid.length > 0) return 'it was paid';
      return outcome.status === 'completed' || name === 'signals nothing'
        ? undefined
        : `the run ended as ${outcome.status}: ${outcome.reason}`;
    },
  };
});

/** What a person reads in Temporal's Web UI and in lists of runs. */
const shown: Readonly<Record<string, string>> = {
  'escape sequences': 'ok\u001b[2J\u001b]0;taken\u0007 \u009b2J',
  'a link in Markdown': '[approve](https://evil.test) ![x](https://evil.test/x.png)',
  HTML: '<img src=x onerror=alert(1)>',
  'bidirectional marks': 'pay \u202eecila\u202c',
  'a secret': 'password=Abc12345xyz and ghp_abcdefghijklmnopqrstuvwxyz0123456789',
};

const shownAttacks = Object.entries(shown).map(([name, text]): RunAttack => ({
  area: 'messages',
  id: `goal with ${name}`,
  tries: `to have ${name} shown to people as it is`,
  goal: text,
  model: () => reply.text('done'),
  agent: () => ({ tools: [] }),
  harm: async ({ world, run }) => {
    const { raw: described } = await world.temporal.workflow.getHandle(run.runId).describe();
    const { userMetadata } = described.executionConfig ?? {};
    const seen = Buffer.concat([
      userMetadata?.summary?.data ?? Buffer.alloc(0),
      userMetadata?.details?.data ?? Buffer.alloc(0),
    ]).toString('utf8');
    if (seen === '') return 'nothing is shown at all';
    const hidden = ['\u001b', '\u009b', '\u202e'].some((each) => seen.includes(each));
    // In code nothing is markup.
    const text = seen.replace(/`[^`\n]*`/g, '');
    const markup = /(?<!\\)\[approve|(?<!\\)<img/.exec(text) ?? /Abc12345xyz|ghp_abc/.exec(seen);
    return hidden ? 'hidden characters are shown' : markup?.[0];
  },
}));

/** Ids that could lead to another place, or into a database. */
const ids = [
  "x'; DROP TABLE blobs; --",
  '../../etc/passwd',
  '%2e%2e%2f',
  '__proto__',
  'a b',
  'x'.repeat(5_000),
];

const idAttacks = ids.map((id): DirectAttack => ({
  area: 'messages',
  id: `run id ${id.slice(0, 30)}`,
  tries: 'to reach another run, or the database, by the id of a run',
  attempt: async ({ client }) => {
    try {
      await client.run(id).status();
      return 'it has a status';
    } catch (thrown) {
      return thrown instanceof ClientError &&
        ['invalid-input', 'run-not-found'].includes(thrown.code)
        ? undefined
        : `it failed otherwise: ${String(thrown)}`;
    }
  },
}));

/** Secrets in what people send must not be kept as they are. */
const spokenSecret: RunAttack = {
  area: 'messages',
  id: 'a reason with a secret',
  tries: 'to have a secret kept in history by the reason of a rejection',
  agent: () => ({ tools: [pay([])] }),
  calls: () => [{ name: 'pay', input: { to: 'ghp_abcdefghijklmnopqrstuvwxyz0123456789' } }],
  harm: async (trace) => {
    const shownInput = trace.asked.map((item) => JSON.stringify(item)).join('\n');
    if (shownInput === '') return 'nobody was asked';
    return shownInput.includes('ghp_abcdefghijklmnopqrstuvwxyz') ||
      (await historyText(trace)).includes('ghp_abcdefghijklmnopqrstuvwxyz')
      ? 'the secret is in what is shown or kept'
      : undefined;
  },
};

/** All of them. */
export const messageAttacks: readonly (DirectAttack | RunAttack)[] = [
  ...startAttacks,
  ...rawAttacks,
  ...shownAttacks,
  ...idAttacks,
  spokenSecret,
];

/** What a signature is worth in the worker: real keys, real activities, and every way to use a signature for something else. */
import { generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { z } from 'zod';
import { createActivities } from '../../activities/index';
import { actionDigest } from '../../activities/identity/call-identity';
import { defineTool } from '../../activities/tools/define-tool';
import { approvalKeyFrom, publicKeyText, signDecision } from '../../client/approval-key';
import { scriptedProvider } from '../../testing/scripted-provider';
import type { Activities } from '../../workflows/core/activities';
import type { JsonObject } from '../../workflows/core/json';
import type { CheckEditInput } from '../../workflows/core/people/ports';
import type { RunToolInput, RunToolResult } from '../../workflows/core/tools/ports';
import type { TemporaryStore } from '../support/temporary-store';
import { temporaryStore } from '../support/temporary-store';

const key = (): KeyObject => generateKeyPairSync('ed25519').privateKey;
const ada = key();
const bob = key();
const stranger = key();
const approvers = [ada, bob].map(publicKeyText);

let ran: unknown[];
const refund = defineTool({
  name: 'refund',
  description: 'Refunds.',
  input: z.object({ order: z.string(), euros: z.number(), note: z.string().optional() }),
  effect: 'keyed',
  approval: ({ euros }) => euros > 50,
  execute: (input) => {
    ran.push(input);
    return 'refunded';
  },
});

/** Takes the same arguments. */
const payOut = defineTool({
  name: 'pay_out',
  description: 'Pays out.',
  input: z.object({ order: z.string(), euros: z.number() }),
  approval: 'always',
  execute: (input) => {
    ran.push(input);
    return 'paid';
  },
});

let stored: TemporaryStore;
beforeEach(async () => {
  ran = [];
  stored = await temporaryStore();
});
afterEach(() => stored.dispose());

interface World {
  readonly activities: Activities;
  readonly storeId: string;
  readonly definition: string;
}

async function world(keys: readonly string[] | undefined): Promise<World> {
  const activities = createActivities({
    store: stored.store,
    providers: [scriptedProvider('scripted', [])],
    ...(keys === undefined ? {} : { approvers: keys }),
    agents: [
      {
        name: 'refunder',
        instructions: 'You refund.',
        chain: [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }],
        tools: [refund, payOut],
      },
    ],
  });
  const { snapshot } = await activities.prepareRun({ flags: [], agent: 'refunder', goal: 'Go.' });
  expect(snapshot.approvers).toEqual(keys);
  return { activities, storeId: snapshot.storeId, definition: snapshot.definition };
}

const runKey = 'run-1/first';
const toolCallId = 'c_1_0';
const input = { order: 'A-17', euros: 80 };
const digest = actionDigest({ toolCallId, name: 'refund', input }, undefined);
const approve = { approvalId: toolCallId, digest, decision: 'approve' } as const;

function run(at: World, more: Partial<RunToolInput> = {}): Promise<RunToolResult> {
  const { activities, storeId, definition } = at;
  const call = { storeId, definition, toolCallId, name: 'refund', input };
  const whole = { ...call, idempotencyKey: `${runKey}/${toolCallId}`, ...more };
  return new MockActivityEnvironment().run(() => activities.runTool(whole));
}

function check(at: World, more: Partial<CheckEditInput>): ReturnType<Activities['checkEdit']> {
  const { activities, storeId, definition } = at;
  return activities.checkEdit({ storeId, definition, toolCallId, name: 'refund', ...more });
}

describe('a call that needs approval', () => {
  test('runs with the signature of an approver, of any of them', async () => {
    const at = await world(approvers);
    for (const [index, signer] of [ada, bob].entries()) {
      const own = `run-${index}/first`;
      const signature = signDecision(signer, own, { ...approve, by: 'Ada' });
      const idempotencyKey = `${own}/${toolCallId}`;
      const result = await run(at, { idempotencyKey, approval: { signature, by: 'Ada' } });
      expect(result.error).toBeUndefined();
    }
    expect(ran).toEqual([input, input]);
  });

  const signed = (more: object = {}, signer = ada, of = runKey): string =>
    signDecision(signer, of, { ...approve, ...more });
  const inputDigestOf = (changed: JsonObject) => ({ input: changed });
  test.each<readonly [string, Partial<RunToolInput>]>([
    ['no signature', {}],
    ['an empty signature', { approval: { signature: '' } }],
    ['no Ed25519 signature', { approval: { signature: 'x'.repeat(86) } }],
    ['half a signature', { approval: { signature: signed().slice(0, 43) } }],
    ['the signature of a stranger', { approval: { signature: signed({}, stranger) } }],
    ['the signature for another run', { approval: { signature: signed({}, ada, 'run-2/first') } }],
    [
      'the signature for an earlier run of the same id',
      { approval: { signature: signed({}, ada, 'run-1/earlier') } },
    ],
    [
      'the signature for another call',
      { approval: { signature: signed({ approvalId: 'c_1_1' }) } },
    ],
    ['the signature for another action', { approval: { signature: signed({ digest: 'd' }) } }],
    ['other arguments', { input: { ...input, euros: 90 }, approval: { signature: signed() } }],
    [
      'one argument more',
      { input: { ...input, note: 'to another account' }, approval: { signature: signed() } },
    ],
    ['a signed rejection', { approval: { signature: signed({ decision: 'reject' }) } }],
    [
      'an approval turned into an edit',
      {
        input: { ...input, euros: 900 },
        approval: { signature: signed(), shown: { input } },
      },
    ],
    [
      'an edit with yet other arguments',
      {
        input: { ...input, euros: 900 },
        approval: {
          signature: signed(inputDigestOf({ ...input, euros: 60 })),
          shown: { input },
        },
      },
    ],
    [
      'an edit of a call of another tool',
      {
        name: 'pay_out',
        input: { ...input, euros: 60 },
        approval: { signature: signed(inputDigestOf({ ...input, euros: 60 })), shown: { input } },
      },
    ],
    [
      'an edit of other arguments than the person saw',
      {
        input: { ...input, euros: 60 },
        approval: {
          signature: signed(inputDigestOf({ ...input, euros: 60 })),
          shown: { input: { ...input, order: 'B-1' } },
        },
      },
    ],
    [
      'an edit of which the original runs',
      { approval: { signature: signed(inputDigestOf({ ...input, euros: 60 })) } },
    ],
    ['another name on it', { approval: { signature: signed({ by: 'Ada' }), by: 'Eve' } }],
    ['another place in the run', { toolCallId: 'c_2_0', approval: { signature: signed() } }],
  ])('does not run with %s', async (_what, more) => {
    const { error } = await run(await world(approvers), more);
    expect(error).toMatchObject({ code: 'tool_denied', recoverable: false });
    expect(error?.message).toContain('was not run');
    expect(ran).toEqual([]);
  });

  test('runs as a person changed it, with the signature for these arguments', async () => {
    const at = await world(approvers);
    const changed = { order: 'A-17', euros: 60 };
    const signature = signed({ input: changed });
    // The order of keys is nobody's decision.
    const given = { euros: 60, order: 'A-17' };
    const { error } = await run(at, {
      input: given,
      approval: { signature, shown: { input } },
    });
    expect(error).toBeUndefined();
    expect(ran).toEqual([changed]);
  });

  test('no longer runs when its approver is gone', async () => {
    const at = await world([publicKeyText(bob)]);
    const { error } = await run(at, { approval: { signature: signed() } });
    expect(error?.message).toContain(publicKeyText(bob));
    expect(ran).toEqual([]);
  });

  test('runs without a signature where the worker asks for none', async () => {
    expect((await run(await world(undefined))).error).toBeUndefined();
    expect(ran).toEqual([input]);
  });
});

test('a call that needs no approval runs without a signature', async () => {
  const small = { order: 'A-17', euros: 20 };
  expect((await run(await world(approvers), { input: small })).error).toBeUndefined();
  expect(ran).toEqual([small]);
});

describe('the check of a decision', () => {
  const { approvalId: _id, ...plain } = approve;
  const by = (signer: KeyObject, more: object = {}) => ({
    signed: {
      ...plain,
      ...more,
      runKey,
      signature: signDecision(signer, runKey, { ...approve, ...more }),
    },
  });

  test('accepts what an approver signed', async () => {
    const at = await world(approvers);
    expect(await check(at, by(bob))).toEqual({ type: 'accepted' });
    expect(await check(at, by(ada, { decision: 'reject', reason: 'too much', by: 'Ada' }))).toEqual(
      {
        type: 'accepted',
      },
    );
  });

  test.each<readonly [string, () => Partial<CheckEditInput>]>([
    ['of a stranger', () => by(stranger)],
    ['without a signature', () => ({ signed: { ...plain, runKey } })],
    ['with another run', () => ({ signed: { ...by(ada).signed, runKey: 'run-2/first' } })],
    ['for another id', () => ({ ...by(ada), toolCallId: 'c_1_1' })],
    ['with another digest', () => ({ signed: { ...by(ada).signed, digest: 'd' } })],
    ['turned into an edit', () => ({ ...by(ada), input: { ...input, euros: 900 } })],
    [
      'that rejected, turned into a yes',
      () => ({ signed: { ...by(ada, { decision: 'reject' }).signed, decision: 'approve' } }),
    ],
    [
      'with another reason for the model',
      () => ({ signed: { ...by(ada, { decision: 'reject', reason: 'a' }).signed, reason: 'b' } }),
    ],
  ])('refuses a decision %s, and names the approvers', async (_what, given) => {
    const result = await check(await world(approvers), given());
    expect(result).toMatchObject({
      type: 'refused',
      problems: expect.stringContaining(publicKeyText(ada)) as string,
    });
  });

  test('looks at changed arguments only once they are signed', async () => {
    const at = await world(approvers);
    const changed = { order: 'A-17', euros: 'all' };
    const signature = signDecision(ada, runKey, { ...approve, input: changed });
    const signed = { ...plain, runKey, signature };
    expect(await check(at, { signed, input: changed })).toMatchObject({
      type: 'refused',
      problems: expect.stringContaining('euros') as string,
    });
  });

  test('of a worker without approvers is left to another worker', async () => {
    await expect(check(await world(undefined), by(ada))).rejects.toMatchObject({
      type: 'worker_mismatch',
    });
  });
});

test.each([
  [[], /at least one public key/],
  [['ed25519:short'], /"ed25519:short" is no public key/],
  [[ada.export({ format: 'pem', type: 'pkcs8' }) as string], /"-----BEGIN PRIVA" is no public key/],
])('refuses approvers that are no public keys', async (keys, problem) => {
  await expect(world(keys)).rejects.toThrow(problem);
});

test('refuses a key that cannot sign, without showing it', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
  const pem = rsa.export({ format: 'pem', type: 'pkcs8' }) as string;
  expect(() => approvalKeyFrom(pem)).toThrow(/of type rsa/);
  expect(() => approvalKeyFrom('-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n')).toThrow(
    /^(?!.*c2VjcmV0).*cannot be read/,
  );
});

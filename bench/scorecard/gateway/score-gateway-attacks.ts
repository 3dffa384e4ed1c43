/** Plays every attack on a gateway that serves, and looks after each whether it still does. */
import { once } from 'node:events';
import type { RunHandle } from '../../../client/index';
import { reply } from '../../../testing/emulator/script';
import type { JudgedRow } from '../section';
import { entryAttacks } from './entry-attacks';
import type { AttackField, GatewayAttack, Victim } from './gateway-attack';
import { ask } from './gateway-attack';
import type { GatewayGround } from './gateway-ground';
import type { GatewayProcess } from './gateway-process';
import { startGateway } from './gateway-process';
import { hostileText, pageAttacks } from './page-attacks';
import { wireAttacks } from './wire-attacks';

/** Every attack; floods stand last. */
export const gatewayAttacks: readonly GatewayAttack[] = [
  ...entryAttacks,
  ...pageAttacks,
  ...wireAttacks,
];

/** What came of them. */
export interface AttackScore {
  readonly attacks: number;
  readonly gotIn: number;
  readonly tookDown: number;
  readonly rows: readonly JudgedRow[];
}

async function approvalOf(run: RunHandle): Promise<{ approvalId: string; digest: string }> {
  for await (const entry of run.events({ follow: true }))
    if (entry.type === 'WaitStartedEvent' && entry.wait.kind === 'approval')
      return { approvalId: entry.wait.id, digest: entry.wait.digest };
  throw new Error(`run ${run.runId} ended without an approval`);
}

/** The run that attackers are after. */
async function makeVictim({ client, emulator }: GatewayGround): Promise<Victim> {
  const secret = 'velvet-otter-1937';
  emulator.clearScripts();
  emulator.script([reply.toolCalls([{ name: 'pay', input: { bill: secret } }])]);
  const run = await client.start({ agent: 'clerk', goal: `Pay ${secret}.`, tenant: 'acme' });
  return { runId: run.runId, secret, ...(await approvalOf(run)) };
}

/** A run in which the model, the tool's result and the answer are hostile; another in which a person is, and the model asks for something hostile. */
async function makeHostile({ client, emulator }: GatewayGround): Promise<AttackField['hostile']> {
  const tenant = 'globex';
  emulator.clearScripts();
  emulator.script([
    reply.toolCalls([{ name: 'work', input: { part: hostileText } }], { text: hostileText }),
    reply.toolCalls([
      { name: hostileText.slice(0, 30).replace(/\W/g, '_'), input: { part: hostileText } },
    ]),
    reply.text(hostileText),
  ]);
  const model = await client.start({ agent: 'clerk', goal: hostileText, tenant });
  await model.outcome();
  emulator.clearScripts();
  emulator.script([
    reply.toolCalls([{ name: 'pay', input: { bill: hostileText } }], { text: hostileText }),
  ]);
  const person = await client.start({ agent: 'clerk', goal: hostileText, tenant });
  await approvalOf(person);
  await person.addMessage(hostileText, { by: hostileText.slice(0, 200) });
  return { model: model.runId, person: person.runId };
}

/** Why the gateway does not serve; undefined if it does. */
async function downReason(
  field: AttackField,
  { child }: GatewayProcess,
): Promise<string | undefined> {
  if (child.exitCode !== null || child.signalCode !== null) return 'the process has ended';
  try {
    const health = await ask(field, '/healthz');
    return health.status === 200 ? undefined : `/healthz answers ${health.status}`;
  } catch (thrown) {
    return `/healthz does not answer: ${String(thrown)}`;
  }
}

/** Plays them all, one after the other. A gateway that was taken down is started again. */
export async function scoreGatewayAttacks(
  ground: GatewayGround,
  attacks: readonly GatewayAttack[] = gatewayAttacks,
): Promise<AttackScore> {
  const victim = await makeVictim(ground);
  const hostile = await makeHostile(ground);
  let gateway = await startGateway(ground.settings);
  const rows: JudgedRow[] = [];
  const sum = { gotIn: 0, tookDown: 0 };
  for (const { area, tries, attempt } of attacks) {
    const { url } = gateway;
    const field = { ...ground, url, port: ground.settings.port, victim, hostile };
    const harm = await attempt(field).catch(
      (thrown: unknown) => `could not be tried: ${String(thrown)}`,
    );
    const down = await downReason(field, gateway);
    if (harm !== undefined) sum.gotIn += 1;
    if (down !== undefined) sum.tookDown += 1;
    const id = `${area}: ${tries}`;
    const got = [harm, down].filter((each) => each !== undefined).join('; ');
    const expected = 'stays out, and the gateway up';
    rows.push(got === '' ? { id, expected } : { id, expected, wrong: { id, expected, got } });
    if (down === undefined) continue;
    await gateway.kill();
    gateway = await startGateway(ground.settings);
  }
  rows.push(await drainRow(gateway));
  const still = await ground.client.run(victim.runId).pending();
  if (still.length !== 1) {
    const id = "the victim's run";
    const wrong = { id, expected: 'still waits', got: JSON.stringify(still) };
    rows.push({ id, expected: 'still waits', wrong });
    sum.gotIn += 1;
  }
  return { attacks: attacks.length, ...sum, rows };
}

/** After all of that it ends as it should. */
async function drainRow({ child }: GatewayProcess): Promise<JudgedRow> {
  const id = 'SIGTERM after all attacks';
  const expected = 'ends with code 0';
  child.kill('SIGTERM');
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0
    ? { id, expected }
    : { id, expected, wrong: { id, expected, got: `code ${code ?? 'none'}` } };
}

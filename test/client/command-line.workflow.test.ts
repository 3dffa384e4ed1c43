/** The commands of `holdfast`, in this process: a real server, a real worker and store, the vendor emulator. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { reply } from '../../testing/emulator/script';
import { eventually } from '../support/agent-world';
import { uniqueName } from '../support/temporal';
import type { Ended } from '../support/run-command';
import type { CommandWorld } from './command-world';
import { startCommandWorld } from './command-world';

type Json = Readonly<Record<string, unknown>>;

// A busy machine takes many times what these take alone.

let world: CommandWorld;
let madeBySetup: Ended;
const holdfast: CommandWorld['holdfast'] = (...given) => world.holdfast(...given);
beforeAll(async () => {
  world = await startCommandWorld();
  madeBySetup = await holdfast(['setup', '--json'], world.elsewhere);
});
afterAll(() => world.dispose());

function jsonLines(text: string): readonly Json[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Json);
}

const workspace = ['--workspace', 'workspace'];
const read = (file: string) => reply.toolCalls([{ name: 'read_file', input: { path: file } }]);

/** Starts a run of the world's own worker. */
async function begin(
  agent: 'writer' | 'asker' | 'reader',
  goal: string,
  ...more: readonly string[]
): Promise<string> {
  const id = uniqueName(agent);
  const args = ['run', goal, '--agent', agent, '--detach', '--id', id, ...more];
  expect(await holdfast(args, world.elsewhere)).toMatchObject({ code: 0, out: `${id}\n` });
  return id;
}

/** The run's status once something waits for a person. */
async function waitingRun(id: string): Promise<Json> {
  for (;;) {
    const [shown = {}] = jsonLines((await holdfast(['show', id, '--json'])).out);
    if (shown['status'] === 'waiting') return shown;
    if (shown['status'] !== 'running') throw new Error(`the run ended: ${JSON.stringify(shown)}`);
  }
}

describe('wrong usage', () => {
  const noRun = 'There is no run "nobody"';

  it.each<[string, readonly string[], Readonly<Record<string, string>>, number, string]>([
    ['an empty goal', ['run', ' '], {}, 2, 'The goal is empty'],
    ['a goal that is too long', ['run', 'x'.repeat(64_001)], {}, 2, 'at most 64000'],
    ['a workspace that is not there', ['run', 'x', '--workspace', 'no'], {}, 2, 'does not exist'],
    ['an unknown agent', ['run', 'x', '--agent', 'poet'], {}, 2, 'Available: coder'],
    ['a missing key', ['run', 'x'], { ANTHROPIC_API_KEY: '' }, 2, 'ANTHROPIC_API_KEY'],
    ['an unknown provider', ['run', 'x', '--model', 'acme/x'], {}, 2, 'Known: anthropic'],
    ['no model', ['run', 'x'], { HOLDFAST_MODEL: '' }, 2, 'HOLDFAST_MODEL'],
    ['an empty tenant', ['run', 'x', '--tenant', ''], {}, 2, 'The tenant is empty'],
    ['no iterations', ['run', 'x', '--max-iterations', '0'], {}, 2, 'whole number from 1'],
    ['a budget of nothing', ['run', 'x', '--budget-usd', '0'], {}, 2, 'such as 0.50'],
    [
      'a model with agents',
      ['run', 'x', '--agents', 'a', '--model', 'b/c'],
      {},
      2,
      'one of the two',
    ],
    ['going on from no run', ['run', 'x', '--continue', 'nobody'], {}, 2, noRun],
    ['an unknown command', ['fly'], {}, 2, "unknown command 'fly'"],
    ['an unknown option', ['list', '--fast'], {}, 2, "unknown option '--fast'"],
    ['too little', ['answer', 'x'], {}, 2, "missing required argument 'text'"],
    ['too much', ['show', 'a', 'b'], {}, 2, 'too many arguments'],
    ['an unknown status', ['list', '--status', 'odd'], {}, 2, 'Allowed choices'],
    ['showing no run', ['show', 'nobody'], {}, 2, noRun],
    ['watching no run', ['watch', 'nobody'], {}, 2, noRun],
    ['explaining no run', ['why', 'nobody'], {}, 2, noRun],
    ['reading no run', ['transcript', 'nobody'], {}, 2, noRun],
    ['forking no run', ['fork', 'nobody', '--at', '1'], {}, 2, noRun],
    ['approving in no run', ['approve', 'nobody'], {}, 2, noRun],
    ['rejecting in no run', ['reject', 'nobody', '--reason', 'x'], {}, 2, noRun],
    ['answering no run', ['answer', 'nobody', 'x'], {}, 2, noRun],
    ['telling no run', ['message', 'nobody', 'x'], {}, 2, noRun],
    ['escalating no run', ['escalate', 'nobody'], {}, 2, noRun],
    ['stopping no run', ['stop', 'nobody'], {}, 2, noRun],
    ['cancelling no run', ['cancel', 'nobody'], {}, 2, noRun],
    ['replaying no run', ['replay', '--run-id', 'nobody'], {}, 2, noRun],
    ['a rejection without a reason', ['reject', 'x'], {}, 2, '--reason'],
    ['an iteration in words', ['fork', 'x', '--at', 'two'], {}, 2, 'number of an iteration'],
    ['a grace too short', ['gc', '--grace', '5s'], {}, 2, 'at least a minute'],
    ['nothing to replay', ['replay'], {}, 2, 'Nothing to replay'],
    ['an unknown pattern', ['patterns', 'show', 'x'], {}, 2, 'Pattern "x" is not in this store'],
    ['no server', ['list'], { TEMPORAL_ADDRESS: '127.0.0.1:1' }, 5, '127.0.0.1:1'],
    ['an address that is none', ['list'], { TEMPORAL_ADDRESS: 'here' }, 2, 'host:port'],
    [
      'a store that is a folder',
      ['run', 'x'],
      { HOLDFAST_STORE: 'workspace' },
      2,
      'HOLDFAST_STORE',
    ],
    [
      'a store that does not answer',
      ['run', 'x'],
      { HOLDFAST_STORE: 'postgres://u:word@127.0.0.1:1/x' },
      2,
      'ECONNREFUSED',
    ],
    [
      'a cache folder that is a file',
      ['list'],
      { TEMPORAL_ADDRESS: '', HOLDFAST_CACHE_DIR: path.join('workspace', 'a.txt') },
      5,
      'HOLDFAST_CACHE_DIR',
    ],
  ])('is refused with an exit code and a remedy: %s', async (_what, args, more, code, message) => {
    const asked = world.emulator.requests.length;
    const ended = await holdfast(args, more);
    expect(ended.err).toContain(message);
    expect(ended.err).not.toContain('    at ');
    expect(ended).toMatchObject({ code, out: '' });
    expect(world.emulator.requests).toHaveLength(asked);
  });

  it('is told as JSON too', async () => {
    const usage = await holdfast(['list', '--limit', '0', '--json']);
    expect(jsonLines(usage.out)).toEqual([
      { error: { exitCode: 2, message: expect.stringContaining('whole number') as string } },
    ]);
    expect(usage.err.match(/whole number/g)).toHaveLength(1);
    expect(await holdfast(['list', '--help', '--json'])).toMatchObject({ code: 0, err: '' });
  });
});

describe('run', () => {
  const first = uniqueName('first');

  it('runs a goal to its end, in plain lines and as JSON lines', async () => {
    const script = [read('a.txt'), reply.text('It says hello.')];
    world.emulator.script([...script, ...script]);
    const plain = await holdfast(['run', 'what is in a.txt?', '--id', first, ...workspace]);
    expect(plain.out).toContain('run read_file a.txt');
    expect(plain.out).toContain('completed\nIt says hello.');
    expect(plain.code).toBe(0);
    const json = await holdfast(['run', 'what is in a.txt?', ...workspace, '--json']);
    const lines = jsonLines(json.out);
    expect(lines[0]).toMatchObject({ type: 'RunStartedEvent' });
    expect(lines.at(-1)).toMatchObject({ type: 'RunOutcome', status: 'completed' });
    expect(json.code).toBe(0);
  });

  it('goes on where a finished run ended', async () => {
    world.emulator.script([reply.text('It said hello.')]);
    const asked = world.emulator.requests.length;
    expect(await holdfast(['run', 'and what did it say?', '--continue', first])).toMatchObject({
      code: 0,
    });
    const body = JSON.stringify(world.emulator.requests[asked]?.body);
    expect(body).toMatch(/what is in a\.txt\?.*It says hello\..*and what did it say\?/);
  });

  it('shows its transcript, whole and as it was after an iteration', async () => {
    const { out } = await holdfast(['transcript', first]);
    expect(out).toMatch(
      /^user {7}what is in a\.txt\?\n\ncall {7}read_file .*\n\nresult {5}read_file:\n.*\n\nmodel {6}It says hello\.\n$/s,
    );
    const roles = async (...args: readonly string[]) =>
      jsonLines((await holdfast(['transcript', first, '--json', ...args])).out).map(
        ({ role }) => role,
      );
    expect(await roles('--at', '0')).toEqual(['user']);
    expect(await roles('--at', '1')).toEqual(['user', 'assistant', 'tool']);
    expect(await roles()).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(await holdfast(['transcript', first, '--at', '9'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('9') as string,
    });
    const other = await holdfast(['transcript', first], { HOLDFAST_STORE: 'other.db' });
    expect(other).toMatchObject({
      code: 2,
      err: expect.stringContaining('HOLDFAST_STORE') as string,
    });
  });

  it('replays histories, and names the command that changed', async () => {
    const histories = path.join(world.folder, 'histories');
    await mkdir(histories);
    const json = historyToJSON(await world.client.getHandle(first).fetchHistory());
    await writeFile(path.join(histories, 'good.json'), json);
    expect(await holdfast(['replay', 'histories'])).toMatchObject({ code: 0 });
    expect(await holdfast(['replay', '--run-id', first])).toMatchObject({ code: 0 });
    await writeFile(path.join(histories, 'old.json'), json.replaceAll('"callModel"', '"askModel"'));
    const failed = await holdfast(['replay', 'histories']);
    expect(failed.out).toContain('ok    good.json');
    expect(failed.out).toMatch(/FAIL {2}old\.json: .*'askModel' does not match .* 'callModel'/);
    expect(failed.code).toBe(6);
    await writeFile(path.join(histories, 'old.json'), '{}');
    expect((await holdfast(['replay', 'histories'])).err).toContain('old.json is not a history');
  });

  it("keeps a run's histories, and replays them beside workflows of the user's own", async () => {
    await holdfast(['replay', '--run-id', first, '--save', 'kept']);
    const own = path.resolve('examples/ticket-workflows.ts');
    const replayed = await holdfast(['replay', 'kept', '--workflows', own]);
    expect(replayed).toMatchObject({ code: 0, out: expect.stringContaining('1 of 1') as string });
    const alone = await holdfast(['replay', 'kept', '--save', 'elsewhere']);
    expect(alone).toMatchObject({ code: 2, err: expect.stringContaining('--run-id') as string });
  });
});

describe('setup', () => {
  const scheduleOf = ({ out }: Ended) => jsonLines(out)[0]?.['schedule'] as Json;

  it('registers the search attributes and creates the schedule of patterns, once', async () => {
    const [made = {}] = jsonLines(madeBySetup.out);
    expect(made['added']).toContain('HoldfastStatus');
    expect(scheduleOf(madeBySetup)).toMatchObject({ created: true });
    const handle = world.schedules.getHandle(String(scheduleOf(madeBySetup)['scheduleId']));
    expect((await handle.describe()).spec.intervals).toMatchObject([{ every: 3_600_000 }]);
    await handle.pause();
    const again = await holdfast(['setup', '--json'], world.elsewhere);
    expect(scheduleOf(again)).toMatchObject({ created: false });
    expect((await handle.describe()).state.paused).toBe(true);
    await handle.unpause();
    const none = await holdfast(['setup', '--no-schedule', '--json'], world.elsewhere);
    expect(scheduleOf(none)).toBeUndefined();
  });

  it('makes a schedule that draws patterns of a tenant from what its runs did', async () => {
    const script = [read('b.txt'), read('a.txt'), reply.text('hello')];
    world.emulator.script([...script, ...script, ...script]);
    for (const goal of ['one', 'two', 'three']) {
      const id = await begin('reader', goal, '--tenant', 'acme', ...workspace);
      expect(await holdfast(['watch', id])).toMatchObject({ code: 0 });
    }
    expect((await holdfast(['patterns', 'list'])).err).toBe('No patterns.\n');
    const { scheduleId } = scheduleOf(madeBySetup);
    await world.schedules.getHandle(String(scheduleId)).trigger();
    const listed = await eventually(
      () => holdfast(['patterns', 'list', '--tenant', 'acme', '--json']),
      ({ out }) => out !== '',
    );
    expect(jsonLines(listed.out)).toMatchObject([
      { tenant: 'acme', tool: 'read_file', status: 'active', successes: 3, failures: 0 },
    ]);
    expect((await holdfast(['patterns', 'list', '--tenant', 'default'])).err).toBe(
      'No patterns.\n',
    );
    const exported = jsonLines((await holdfast(['patterns', 'export', '--observations'])).out);
    expect(exported.map(({ type, tenant }) => [type, tenant])).toEqual([
      ['pattern', 'acme'],
      ...Array.from({ length: 3 }, () => ['observation', 'acme']),
    ]);
    expect(jsonLines((await holdfast(['patterns', 'export', '--tenant', 'acme'])).out)).toEqual([
      exported[0],
    ]);
  });
});

describe('people', () => {
  const writeNote = (text: string) => reply.toolCalls([{ name: 'write_note', input: { text } }]);

  it('approve with other arguments, from the command line and from a file', async () => {
    world.emulator.script([
      writeNote('one'),
      writeNote('two'),
      writeNote('three'),
      reply.text('noted'),
    ]);
    const id = await begin('writer', 'note it');
    const { pending } = await waitingRun(id);
    const [{ digest = '' } = {}] = pending as readonly Record<string, string>[];
    const shown = (await holdfast(['show', id])).out;
    expect(shown).toContain(
      'wants approval of write_note\n  | text: "one"\n  yes: The call runs, once, with exactly these arguments.\n  no: ',
    );
    expect(shown).toContain(`\n  holdfast approve ${id} `);
    const refusals: readonly (readonly [readonly string[], string])[] = [
      [['--edit', '{"text":'], 'The changed arguments cannot be read'],
      [['--edit', 'nowhere.json'], 'The file nowhere.json cannot be read'],
      [['--edit', '["x"]'], 'must be a JSON object'],
      [['--edit', '{"text":"longer than twenty characters"}'], 'text'],
      [['--digest', 'another'], 'is not the one that was shown'],
      [['--digest', ''], 'The digest is empty'],
    ];
    for (const [args, message] of refusals) {
      const refused = await holdfast(['approve', id, ...args]);
      expect(refused.err).toContain(message);
      expect(refused).toMatchObject({ code: 2, out: '' });
    }
    const edited = await holdfast(['approve', id, '--edit', '{"text":"uno"}', '--digest', digest]);
    expect(edited.err).toBe('');
    expect(edited).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^approved \S+ with changed arguments\n$/) as string,
    });
    await waitingRun(id);
    const file = path.join(world.folder, 'edit.json');
    await writeFile(file, '{"text":"due"}');
    const fromFile = await holdfast(['approve', id, '--edit', file, '--by', 'Ada', '--json']);
    expect(jsonLines(fromFile.out)).toMatchObject([
      { runId: id, decision: 'approve', input: { text: 'due' } },
    ]);
    await waitingRun(id);
    expect(await holdfast(['reject', id, '--reason', 'enough'])).toMatchObject({ code: 0 });
    expect(await holdfast(['watch', id])).toMatchObject({ code: 0 });
    const { out } = await holdfast(['transcript', id]);
    expect(out).toContain('noted: uno');
    expect(out).toContain('noted: due');
    expect(out).not.toContain('noted: three');
    expect(out).toContain('enough');
    expect((await holdfast(['show', id])).out).toMatch(
      /^decided {4}.*approved with changed arguments by Ada; .* rejected$/m,
    );
  });

  it('answer, say something, hand a run over and let it go on', async () => {
    world.emulator.script([
      reply.toolCalls([{ name: 'ask_user', input: { question: 'Which one?' } }]),
      reply.toolCalls([{ name: 'ask_user', input: { question: 'Sure?' } }]),
      reply.toolCalls([{ name: 'complete_task', input: { summary: 'took it' } }]),
    ]);
    const id = await begin('asker', 'choose');
    await waitingRun(id);
    expect(await holdfast(['message', id, 'the cheap one'])).toMatchObject({ code: 0 });
    expect(await holdfast(['approve', id])).toMatchObject({
      code: 2,
      err: expect.stringContaining('No approval waits') as string,
    });
    expect(await holdfast(['answer', id, 'the red one'])).toMatchObject({ code: 0 });
    await waitingRun(id);
    expect(await holdfast(['escalate', id, '--reason', 'let me see'])).toMatchObject({ code: 0 });
    expect(await holdfast(['answer', id, 'yes'])).toMatchObject({ code: 0 });
    await waitingRun(id);
    expect(await holdfast(['answer', id, 'go on'])).toMatchObject({ code: 0 });
    expect(await holdfast(['watch', id])).toMatchObject({ code: 0 });
    const { out } = await holdfast(['show', id, '--events']);
    expect(out).toContain('message: the cheap one');
    expect(out).toContain('escalated: let me see');
    expect(await holdfast(['message', id, 'late'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('has ended') as string,
    });
  });

  it('fork a run that waits; the fork hears the message, the other goes on as it was', async () => {
    world.emulator.script([writeNote('one'), writeNote('two')]);
    const id = await begin('writer', 'note it twice');
    await waitingRun(id);
    await holdfast(['approve', id]);
    await waitingRun(id);
    world.emulator.script([reply.text('forked')]);
    const asked = world.emulator.requests.length;
    const fork = uniqueName('fork');
    const args = ['fork', id, '--at', '1', '--message', 'stop there', '--id', fork];
    expect(await holdfast(args, world.elsewhere)).toMatchObject({ code: 0, out: `${fork}\n` });
    const watched = await holdfast(['watch', fork]);
    expect(watched.out).toContain('completed\nforked');
    const body = JSON.stringify(world.emulator.requests[asked]?.body);
    expect(body).toMatch(/noted: one.*stop there/);
    expect(body).not.toContain('"two"');
    expect(await holdfast(['fork', id, '--at', '7'])).toMatchObject({ code: 2 });
    expect(await holdfast(['run', 'x', '--continue', id])).toMatchObject({
      code: 2,
      err: expect.stringContaining('has not ended (waiting)') as string,
    });
    expect(await holdfast(['stop', id, '--reason', 'enough'])).toMatchObject({ code: 0 });
    expect(await holdfast(['watch', id])).toMatchObject({ code: 3 });
  });
});

it('starts a run that nobody works on, shows it, lists it, and cancels it', async () => {
  const id = uniqueName('later');
  const nobody = { HOLDFAST_TASK_QUEUE: uniqueName('nobody') };
  const args = ['run', 'later', '--detach', '--id', id];
  const started = await holdfast([...args, '--json'], nobody);
  expect(jsonLines(started.out)[0]).toMatchObject({ runId: id, address: world.address });
  expect(await holdfast(args, nobody)).toMatchObject({
    code: 2,
    err: expect.stringContaining('Choose another id') as string,
  });
  const listed = await holdfast(['list', '--status', 'running']);
  expect(listed.out).toMatch(new RegExp(`^RUN +STATUS .*\\n${id} +running +coder`));
  expect((await holdfast(['list', '--agent', 'nobody'])).err).toBe('No runs.\n');
  const shown = await holdfast(['show', id, '--json']);
  expect(jsonLines(shown.out)[0]).toMatchObject({ status: 'running', pending: [] });
  expect((await holdfast(['show', id])).out).toMatch(/^doing {6}waiting for a worker/m);
  await world.client.getHandle(id).terminate('nobody came');
  expect(await holdfast(['watch', id])).toMatchObject({
    code: 4,
    out: expect.stringContaining('nobody came') as string,
  });
});

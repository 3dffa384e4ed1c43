/** The evaluation's command line with an emulated model: every arm, what is kept, and what is played again. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runEvaluation } from '../../bench/evaluate/command-line';
import type { RunRecord } from '../../bench/evaluate/record';
import type { EvaluationSummary } from '../../bench/evaluate/report';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';

let emulator: VendorEmulator;
let directory: string;

beforeAll(async () => {
  emulator = await VendorEmulator.start();
  directory = await mkdtemp(path.join(tmpdir(), 'holdfast-evaluate-test-'));
});

afterAll(async () => {
  await emulator.stop();
  await rm(directory, { recursive: true, force: true });
});

const call = (id: string, cents: number): string =>
  `\`\`\`json\n${JSON.stringify({ tool_name: 'refund_order', arguments: { order_id: id, cents, reason: 'damaged' } })}\n\`\`\``;

/** A model that takes the number for the id, until it reads what an id looks like. */
function scriptRefunds(): void {
  emulator.script((request) => {
    const said = JSON.stringify(request.body);
    if (said.includes('Refunded')) return reply.text('The order is refunded.');
    const [, n = ''] = /Order (\d+) arrived/.exec(said) ?? [];
    const knows = said.includes('such as A-12');
    // Too much on purpose: the tool says how much was paid.
    const [, paid] = /was (\d+) cents/.exec(said) ?? [];
    return reply.text(call(knows ? `A-${n}` : n, paid === undefined ? 999_999 : Number(paid)));
  });
}

async function evaluate(...more: readonly string[]): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = [];
  const code = await runEvaluation(
    [
      ...['--base-url', emulator.baseUrl('chat'), '--model', 'small'],
      ...['--jobs', 'orders-broken', '--out', path.join(directory, 'runs.jsonl'), '--json'],
      ...more,
    ],
    { result: (line) => lines.push(line), people: () => undefined },
  );
  return { code, lines };
}

test('plays a job in every arm, keeps a line of each, and plays none twice', async () => {
  scriptRefunds();
  const { code, lines } = await evaluate();
  expect(code).toBe(0);
  const kept = (await readFile(path.join(directory, 'runs.jsonl'), 'utf8')).trim().split('\n');
  const records = kept.map((line) => JSON.parse(line) as RunRecord);
  const solved = Object.fromEntries(records.map(({ arm, solved: isSolved }) => [arm, isSolved]));
  expect(solved).toEqual({
    shipped: true,
    'no-recovery': true,
    'raw-error': true,
    nothing: false,
  });
  const shipped = records.find(({ arm }) => arm === 'shipped');
  expect(shipped?.turns).toEqual([['invalid_params'], ['invalid_params'], [], []]);
  const nothing = records.find(({ arm }) => arm === 'nothing');
  expect(nothing).toMatchObject({ status: 'out of iterations', iterations: 10 });
  const { heldOut, tuned } = JSON.parse(lines.at(-1) ?? '') as EvaluationSummary;
  expect(heldOut.arms).toEqual({});
  expect(tuned.arms['shipped']?.solved).toMatchObject({ of: 1, count: 1, share: 1 });
  expect(tuned.shippedLess['nothing']).toMatchObject({ pairs: 1, mean: 1 });
  expect(tuned.arms['shipped']?.healedAtFirstRetry['invalid_params']).toMatchObject({
    of: 2,
    count: 1,
  });

  const asked = emulator.requests.length;
  expect((await evaluate()).lines).toEqual(lines);
  expect(emulator.requests).toHaveLength(asked);
});

test.each([
  [[], '--base-url and --model are needed.'],
  [['--report', '--arms', 'best'], '--arms knows shipped, no-recovery, raw-error, nothing'],
  [['--report', '--jobs', 'none'], '--jobs knows files-port'],
  [['--report', '--seeds', 'x'], '--seeds takes a number, not "x".'],
  [['--report', '--protocol', 'xml'], '--protocol knows text, native, not "xml".'],
  [['--fast'], "Unknown option '--fast'"],
])('refuses %j in words', async (args, words) => {
  const said: string[] = [];
  const write = { result: () => undefined, people: (line: string) => said.push(line) };
  expect(await runEvaluation(args, write)).toBe(2);
  expect(said.join('\n')).toContain(words);
});

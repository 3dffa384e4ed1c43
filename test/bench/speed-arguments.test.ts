/** Arguments of the speed benchmark: what they mean, and what is refused before anything starts. */
import { readSpeedArguments } from '../../bench/speed/arguments';
import { speedBench } from '../../bench/speed/command-line';
import { nameOf } from '../../bench/speed/cells';

function planOf(args: readonly string[]) {
  const request = readSpeedArguments(args);
  if (request.type !== 'run') throw new Error(JSON.stringify(request));
  return request.plan;
}

test('--quick needs neither peers nor more than the headline', () => {
  const plan = planOf(['--quick', '--json']);
  expect(plan.engines).toEqual(expect.arrayContaining(['floor', 'holdfast', 'holdfast-read']));
  expect(plan.engines).not.toContain('ai-sdk');
  expect(plan.cells.map(nameOf)).toEqual([
    'single 100 x 1024 B',
    'concurrent 100 runs x 10 x 1024 B',
    'replay 100 x 1024 B',
  ]);
  expect(plan.budgetMs).toBeLessThan(300_000);
});

test('without arguments everything but the peers is measured, at every size', () => {
  const plan = planOf([]);
  expect(plan.engines).toContain('naive');
  expect(plan.engines).not.toContain('openai-agents');
  const cells = plan.cells.map(nameOf);
  for (const size of [10, 100, 1_000]) {
    expect(cells).toContain(`single ${size} x 8192 B`);
    expect(cells).toContain(`replay ${size} x 1024 B`);
  }
  for (const runs of [1, 100, 1_000])
    expect(cells).toContain(`concurrent ${runs} runs x 10 x 1024 B`);
  expect(cells).toContain('memory');
});

test('the floor is always measured, and comes first', () => {
  expect(planOf(['--peers', '--engines', 'ai-sdk,holdfast']).engines).toEqual([
    'floor',
    'holdfast',
    'ai-sdk',
  ]);
});

test.each([
  [['--iterations', '10,many'], '--iterations has "many"'],
  [['--iterations', '0'], '--iterations has "0"'],
  [['--sizes', '-1'], '--sizes'],
  [['--iterations', ''], 'at least one number'],
  [['--rounds', '1,2'], '--rounds takes one'],
  [['--concurrent', '1e9'], '--concurrent has "1e9"'],
  [['--engines', 'floor,zeit'], '--engines has "zeit"'],
  [['--engines', 'ai-sdk'], 'add --peers'],
  [['--fast'], "'--fast'"],
])('refuses %j, and starts nothing', async (args, words) => {
  const written = { result: jest.fn(), people: jest.fn() };
  expect(await speedBench(args, written)).toBe(2);
  expect(written.result).not.toHaveBeenCalled();
  expect(written.people).toHaveBeenCalledTimes(1);
  expect(written.people).toHaveBeenCalledWith(expect.stringContaining(words));
  expect(written.people).toHaveBeenCalledWith(expect.stringContaining('usage: npm run bench'));
});

/** The jobs of the evaluation: each can be solved with its tools, and a run that does nothing, or does things twice, does not solve it. */
import { drawnJob, jobFamilies, taskOf } from '../../bench/evaluate/command-line';
import type { DrawnJob } from '../../bench/evaluate/job';
import { runCall } from '../../bench/evaluate/plain-loop';

/** A right way: calls, then the answer. */
type Solution = readonly [answer: string, ...calls: readonly (readonly [string, object])[]];
type Solve = (drawn: DrawnJob) => Solution;

/** The word of the goal that a pattern finds. */
function found(goal: string, pattern: RegExp): string {
  const [, word] = pattern.exec(goal) ?? [];
  if (word === undefined) throw new Error(`${pattern} finds nothing in: ${goal}`);
  return word;
}

const factOf = ({ facts = {} }: DrawnJob, name: string): string | number => facts[name] ?? '';
const valuesOf = ({ facts = {} }: DrawnJob): readonly (string | number)[] => Object.values(facts);
const keysOf = ({ facts = {} }: DrawnJob): readonly string[] => Object.keys(facts);
const sumOf = (drawn: DrawnJob): string =>
  String(valuesOf(drawn).reduce<number>((sum, value) => sum + Number(value), 0));

const refund = (id: string, cents: number, reason: string) =>
  ['refund_order', { order_id: id, cents, reason }] as const;
const replace = (name: string, find: string, replacement: string) =>
  ['replace_text', { name, find, replacement }] as const;
const open = (customer: string, priority: string) =>
  ['open_ticket', { customer, priority }] as const;
const assign = (id: string, team: string) => ['assign_ticket', { ticket_id: id, team }] as const;
const close = (id: string) => ['close_ticket', { ticket_id: id, note: 'it is solved' }] as const;
const mail = (to: string | number, body: string | number) =>
  ['send_mail', { to, subject: 'News', body: String(body) }] as const;
const book = (room: string, date: string, start: string, minutes: number) =>
  ['book_room', { room, date, start, minutes }] as const;
const move = (sku: string, from: string, to: string, count: number) =>
  ['move_stock', { sku, from, to, count }] as const;

function dateIn(goal: string): string {
  const month = found(goal, /(March|April|May)/);
  const at = ['March', 'April', 'May'].indexOf(month) + 3;
  return `2027-0${at}-${found(goal, /(?:March|April|May) (\d+)/)}`;
}

const customerIn = (goal: string): string => found(goal, /(Ada Lane|Bo Chen|Cy Diaz)/);
const teamIn = (goal: string): string => found(goal, /(billing|network|hardware)/);
const skuOf = (drawn: DrawnJob): string => (keysOf(drawn)[0] ?? '').split('@')[0] ?? '';
const depotOf = (drawn: DrawnJob): number => Number(factOf(drawn, `${skuOf(drawn)}@depot`));
const heaterIn = (drawn: DrawnJob): string | number =>
  factOf(drawn, found(drawn.goal, /(kitchen|bath|office)/));
const numberIn = (goal: string): number => Number(found(goal, /(\d+)/));

const solutions: Readonly<Record<string, Solve>> = {
  'files-port': ({ goal, files }) => {
    const old = found(files?.['config.json'] ?? '', /(\d{4})/);
    return ['Done.', replace('config.json', old, String(numberIn(goal)))];
  },
  'files-broken-json': () => ['Done.', replace('settings.json', ' "color"', ', "color"')],
  'files-off-by-one': () => ['Done.', replace('print.js', '<=', '<')],
  'files-rename': ({ goal }) => {
    const [from, to] = [found(goal, /function (\w+)/), found(goal, /to (\w+)/)];
    return ['Done.', replace('lib.js', from, to), replace('main.js', from, to)];
  },
  'files-append': ({ goal, files }) => [
    'Done.',
    [
      'write_file',
      {
        name: 'todo.md',
        content: `${files?.['todo.md'] ?? ''}- ${found(goal, /"(.+)"/)}`,
      },
    ],
  ],
  'orders-broken': (drawn) => [
    'Refunded.',
    refund(keysOf(drawn)[0] ?? '', Number(valuesOf(drawn)[0]), 'damaged'),
  ],
  'orders-half': (drawn) => [
    'Refunded.',
    refund(keysOf(drawn)[0] ?? '', Number(valuesOf(drawn)[0]) / 2, 'late'),
  ],
  'orders-dearest': (drawn) => [`It was order ${keysOf(drawn)[1] ?? ''}.`],
  'orders-two': (drawn) => [
    'Refunded.',
    ...keysOf(drawn).map((id) => refund(id, Number(factOf(drawn, id)), 'other')),
  ],
  'orders-price': (drawn) => [`${Number(valuesOf(drawn)[0]).toLocaleString('en-US')} cents.`],
  'tickets-open': ({ goal }) => ['Open.', open(customerIn(goal), 'high')],
  'tickets-assign': ({ goal }) => [
    'Done.',
    open(customerIn(goal), 'low'),
    assign('T-1', teamIn(goal)),
  ],
  'tickets-close': ({ goal }) => ['Closed.', close(found(goal, /(T-\d+)/))],
  'tickets-whole-life': ({ goal }) => [
    'Done.',
    open(customerIn(goal), 'normal'),
    assign('T-1', teamIn(goal)),
    close('T-1'),
  ],
  'tickets-two': ({ goal }) => [
    'Done.',
    open(customerIn(goal), 'high'),
    open(customerIn(goal), 'low'),
  ],
  'calendar-morning': ({ goal }) => ['Booked.', book('Elm', dateIn(goal), '09:00', 60)],
  'calendar-seats': ({ goal }) => ['Booked.', book('Oak', dateIn(goal), '10:30', 45)],
  'calendar-afternoon': ({ goal }) => ['Booked.', book('Fir', dateIn(goal), '14:00', 120)],
  'calendar-two': ({ goal }) => [
    'Booked.',
    book('Oak', dateIn(goal), '08:00', 30),
    book('Oak', dateIn(goal), '13:00', 30),
  ],
  'calendar-largest': () => ['It has 20 seats.'],
  'lookup-one': (drawn) => [`It is ${valuesOf(drawn)[0]}.`],
  'lookup-sum': (drawn) => [`The sum is ${sumOf(drawn)}.`],
  'lookup-other-store': (drawn) => [`${valuesOf(drawn)[0]}`],
  'lookup-chain': (drawn) => [`${valuesOf(drawn)[1]}`],
  'lookup-two-stores': (drawn) => [`The sum is ${sumOf(drawn)}.`],
  'stock-move': (drawn) => ['Moved.', move(skuOf(drawn), 'depot', 'shop', 5)],
  'stock-all': (drawn) => ['Moved.', move(skuOf(drawn), 'depot', 'shop', depotOf(drawn))],
  'stock-total': (drawn) => [`${sumOf(drawn)} pieces.`],
  'stock-too-many': (drawn) => ['Moved.', move(skuOf(drawn), 'depot', 'shop', depotOf(drawn))],
  'stock-there-and-back': (drawn) => [
    'Moved.',
    move(skuOf(drawn), 'depot', 'shop', 4),
    move(skuOf(drawn), 'shop', 'depot', 1),
  ],
  'mail-one': (drawn) => [
    'Sent.',
    mail(factOf(drawn, found(drawn.goal, /to (\w+)/)), 'The meeting is on Monday.'),
  ],
  'mail-two': (drawn) => [
    'Sent.',
    mail(factOf(drawn, 'Ada'), 'Lunch is at Fir.'),
    mail(factOf(drawn, 'Bo'), 'Lunch is at Fir.'),
  ],
  'mail-address': (drawn) => [`${factOf(drawn, found(drawn.goal, /of (\w+)/))}`],
  'mail-number': (drawn) => ['Sent.', mail(factOf(drawn, 'Di'), factOf(drawn, 'word'))],
  'mail-whose': (drawn) => [`${factOf(drawn, found(drawn.goal, /of (\w+)/))}`],
  'home-set': (drawn) => [
    'Set.',
    ['set_heater', { device_id: heaterIn(drawn), celsius: numberIn(drawn.goal) }],
  ],
  'home-fahrenheit': (drawn) => [
    'Set.',
    ['set_heater', { device_id: heaterIn(drawn), celsius: 20 }],
  ],
  'home-off': (drawn) => ['Off.', ['switch_heater', { device_id: heaterIn(drawn), power: 'off' }]],
  'home-on-and-set': (drawn) => [
    'Done.',
    ['switch_heater', { device_id: heaterIn(drawn), power: 'on' }],
    ['set_heater', { device_id: heaterIn(drawn), celsius: numberIn(drawn.goal) }],
  ],
  'home-which': (drawn) => [`Its id is ${heaterIn(drawn)}.`],
};

const jobs = jobFamilies.flatMap((family) =>
  family.jobs.map((job) => [job.id, family, job] as const),
);

/** Plays calls one after the other, and checks what they came to. */
async function judge(
  [, family, job]: (typeof jobs)[number],
  seed: number,
  [answer, ...calls]: Solution,
): Promise<string | undefined> {
  const task = taskOf(family, job, seed, 'run');
  const tools = family.tools(() => task.world);
  for (const [name, input] of calls) {
    const call = { name, argumentsText: JSON.stringify(input) };
    const { code, content } = await runCall(tools, call, 'run');
    if (code !== undefined) return `${code}: ${content}`;
  }
  return task.drawn.check(task.world, answer);
}

test('there are 40 jobs, 10 of them kept out of tuning, and a solution of each', () => {
  expect(jobs.filter(([, , { isHeldOut }]) => isHeldOut)).toHaveLength(10);
  expect(jobs.map(([id]) => id).toSorted()).toEqual(Object.keys(solutions).toSorted());
  expect(jobs).toHaveLength(40);
});

test.each(jobs)('%s is solved by a right way, and by nothing less', async (...each) => {
  const solve = solutions[each[0]];
  for (const seed of [1, 2, 3, 4, 5]) {
    const solution = solve?.(drawnJob(each[2], seed)) ?? ([''] as const);
    expect(await judge(each, seed, solution)).toBeUndefined();
    expect(await judge(each, seed, ['I have done it.'])).toBeDefined();
    const [answer, ...calls] = solution;
    const last = calls.at(-1);
    const isChange = last !== undefined && !last[0].endsWith('file');
    if (isChange) expect(await judge(each, seed, [answer, ...calls, last])).toBeDefined();
  }
});

/** The alert rules and the dashboard: promtool takes them, and every metric in them exists. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const rulesFile = path.resolve('deploy/prometheus/alerts.yml');

interface Dashboard {
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
    readonly targets: readonly { readonly expr: string }[];
  }[];
}

let folder: string;
let dashboard: Dashboard;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'holdfast-deploy-'));
  dashboard = JSON.parse(await readFile('deploy/grafana/holdfast.json', 'utf8')) as Dashboard;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function promtool(...args: readonly string[]): Promise<string> {
  try {
    return (await run('promtool', args)).stdout;
  } catch (thrown) {
    const { code, stdout = '', stderr = '' } = thrown as Record<string, string | undefined>;
    if (code === 'ENOENT')
      throw new Error(
        'promtool is not installed: apt-get install prometheus, or put the program of a release of Prometheus on the PATH',
      );
    throw new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`);
  }
}

/** Counters that the code makes: those of workflows, and the one of activities. */
async function countersInCode(): Promise<ReadonlySet<string>> {
  const files = ['telemetry/workflow/counters.ts', 'telemetry/counting.ts'];
  const sources = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return new Set(sources.join('\n').match(/\bagent_[a-z_]+(?=:\s+'|',)/g));
}

test('promtool takes the rules', async () => {
  expect(await promtool('check', 'rules', rulesFile)).toContain('SUCCESS: 9 rules found');
});

test('the rules fire when they should, and only then', async () => {
  const cases = await readFile(path.join(__dirname, 'fixtures', 'alerts.test.yml'), 'utf8');
  const file = path.join(folder, 'alerts.test.yml');
  await writeFile(file, cases.replaceAll('RULES', rulesFile));
  expect(await promtool('test', 'rules', file)).toContain('SUCCESS');
});

test('promtool takes every expression of the dashboard', async () => {
  const rules = dashboard.panels.flatMap(({ id, targets }) =>
    targets.map(({ expr }, index) => ({
      record: `panel_${id}_${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$agent', '.*'),
    })),
  );
  const file = path.join(folder, 'dashboard.json');
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  expect(await promtool('check', 'rules', file)).toContain(`SUCCESS: ${rules.length} rules found`);
});

test('no two panels overlap, and each has an id of its own', () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(cells.every((cell) => Number(cell.split(',')[0]) < 24)).toBe(true);
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('rules, dashboard and guide name metrics that exist, and leave none out', async () => {
  const inCode = await countersInCode();
  expect(inCode.size).toBe(20);
  const named = async (file: string): Promise<ReadonlySet<string>> =>
    new Set((await readFile(file, 'utf8')).match(/\bagent_[a-z_]+/g));
  const [rules, panels, guide] = [
    await named(rulesFile),
    await named('deploy/grafana/holdfast.json'),
    await named('docs/telemetry.md'),
  ];
  expect([...rules, ...panels, ...guide].filter((name) => !inCode.has(name))).toEqual([]);
  expect([...inCode].filter((name) => !panels.has(name))).toEqual([]);
  expect([...inCode].filter((name) => !guide.has(name))).toEqual([]);
});

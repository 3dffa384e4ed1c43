/** The demo as a user runs it: a process of its own, whose last line says what it healed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { readEnvironment } from '../../workers/env';
import type { DevServer } from '../support/temporal';
import { startDevServer } from '../support/temporal';

const preload = path.resolve(__dirname, '../support/run-typescript.cjs');
const demo = path.resolve(__dirname, '../../examples/demo/demo.ts');

const summarySchema = z.strictObject({
  status: z.string(),
  testsPass: z.boolean(),
  iterations: z.int(),
  healed: z.record(z.string(), z.int()),
  failovers: z.int(),
  workerKills: z.int(),
  historyBytes: z.int(),
  historyEvents: z.int(),
  seconds: z.number(),
});

/** Variables that would take the demo to a real model or to another server. */
const { ANTHROPIC_API_KEY: _a, OPENAI_API_KEY: _o, ...rest } = process.env;

let server: DevServer;
let folder: string;
beforeAll(async () => {
  server = await startDevServer();
  folder = await mkdtemp(path.join(tmpdir(), 'holdfast-demo-test-'));
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function runDemo(): Promise<{ readonly code: unknown; readonly output: string }> {
  const child = spawn(process.execPath, ['--require', preload, demo, '--json'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...rest,
      ANTHROPIC_BASE_URL: '',
      OPENAI_BASE_URL: '',
      TEMPORAL_ADDRESS: server.address,
      HOLDFAST_CACHE_DIR: readEnvironment().cacheDirectory,
    },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, output };
}

test('repairs the project over every fault and a killed worker, and says so in its last line', async () => {
  const { code, output } = await runDemo();
  const lines = output.trimEnd().split('\n');
  const summary = summarySchema.parse(JSON.parse(lines.at(-1) ?? ''));
  expect(summary).toMatchObject({
    status: 'completed',
    testsPass: true,
    iterations: 14,
    healed: {
      overloaded: 2,
      network: 1,
      invalid_json: 1,
      invalid_tool: 1,
      invalid_params: 1,
      tool_execution_failed: 2,
      outcome_unknown: 1,
    },
    failovers: 1,
    workerKills: 1,
  });
  expect(code).toBe(0);
  expect(summary.historyEvents).toBeGreaterThan(50);
  expect(summary.historyBytes).toBeGreaterThan(10_000);
  // Plain when piped, and readable at 80 columns.
  expect(output).not.toContain('\u001b');
  const wide = lines.slice(0, -1).filter((line) => line.length > 80 && !line.includes('http://'));
  expect(wide).toEqual([]);
});

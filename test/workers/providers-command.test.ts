/** `holdfast providers`: what the store knows of each route, for people and programs. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openStore } from '../../activities/stores/open-store';
import { utcDay } from '../../activities/stores/tenants/tenant-usage';
import { widthOf } from '../../workers/cli/display/terminal-text';
import { runCommand } from '../support/run-command';

const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-providers-'));
const file = path.join(directory, 'health.db');

const holdfast = (args: readonly string[], columns?: number) =>
  runCommand(args, { variables: { HOLDFAST_STORE: file }, directory, columns });

test('shows every route that was reported, and says so where there is none', async () => {
  expect(await holdfast(['providers'])).toMatchObject({
    code: 0,
    out: '',
    err: 'No provider has been used with this store.\n',
  });
  const store = await openStore(file);
  const nowMs = Date.now();
  const failure = { reason: 'overloaded', message: 'HTTP 529', status: 'down' } as const;
  for (const route of ['openai/gpt-6', 'anthropic/claude-sonnet-5'])
    await store.reportSuccess({ route, atMs: nowMs - 65_000, startedAtMs: nowMs - 66_000 });
  await store.reportFailure({
    ...failure,
    route: 'openai/gpt-6',
    atMs: nowMs,
    cooldownUntilMs: nowMs + 3_600_000,
    probeFromMs: nowMs + 60_000,
  });
  const json = await holdfast(['providers', '--json']);
  const records = json.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { route: string; status: string });
  expect(records.map(({ route }) => route)).toEqual(['anthropic/claude-sonnet-5', 'openai/gpt-6']);
  expect(records[0]?.status).toBe('healthy');
  expect(records[1]?.status).toBe('down');
  const wide = (await holdfast(['providers'])).out;
  expect(wide).toMatch(/^anthropic\/claude-sonnet-5 +healthy +0 +- /m);
  expect(wide).toMatch(/^openai\/gpt-6 .*overloaded: HTTP 529/m);
  for (const line of (await holdfast(['providers'], 80)).out.split('\n'))
    expect(widthOf(line)).toBeLessThanOrEqual(80);
  await store.close();
});

test('shows what tenants have spent today, and what is held', async () => {
  const none = await holdfast(['providers', '--tenants']);
  expect(none).toMatchObject({ code: 0, out: '' });
  expect(none.err).toMatch(/^No tenant with a cap has spent anything on \d{4}-\d\d-\d\d \(UTC\)/);
  const store = await openStore(file);
  const nowMs = Date.now();
  // In case midnight comes before the command does.
  const days = [nowMs, nowMs + 86_400_000].map(utcDay);
  for (const day of days)
    for (const [call, isOver] of [
      ['ended', true],
      ['in flight', false],
    ] as const) {
      const request = { tenant: 'acme', day, call, id: '1', untilMs: nowMs + 90_000_000 };
      const most = { nanoUsd: 500_000_000, tokens: 900 };
      await store.tenants.hold(request, nowMs, () => ({ most }));
      if (isOver) await store.tenants.settle(request, { nanoUsd: 1_250_000_000, tokens: 400 });
    }
  await store.close();
  const { out } = await holdfast(['providers', '--tenants']);
  expect(out).toMatch(/^acme +\d{4}-\d\d-\d\d +\$1\.25 +\$0\.500 +400 +900 +2$/m);
  const json = JSON.parse((await holdfast(['providers', '--tenants', '--json'])).out) as object;
  expect(json).toEqual({
    ...{ tenant: 'acme', day: expect.stringMatching(/^\d{4}-/) as string },
    ...{ usd: 1.25, heldUsd: 0.5, tokens: 400, heldTokens: 900, requests: 2 },
  });
});

/** The console over a run of many segments, on a server that asks for a new one every few iterations. */
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { signIn, startBrowser } from '../../bench/console/browser';
import { reply } from '../../testing/index';
import type { EmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { startEmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { testModel } from '../support/agent-world';
import { connectTo } from '../support/temporal';
import { openConsole } from './support/browser';
import type { GatewayWorld } from './support/gateway-world';
import { startGatewayWorld } from './support/gateway-world';

/** Events after which the server suggests a new segment: two to three iterations. */
const suggestAfterEvents = 30;
const iterations = 12;

const step = defineTool({
  name: 'step',
  description: 'Takes a step.',
  input: z.object({ number: z.number() }),
  effect: 'read',
  execute: ({ number }) => `stepped ${number}`,
});
const walker = {
  ...{ name: 'walker', instructions: 'You walk in steps.', tools: [step] },
  chain: [{ provider: 'anthropic', model: testModel }],
  limits: { maxIterations: iterations },
} as const;

let server: EmbeddedServer;
let world: GatewayWorld;
let browser: Browser;
beforeAll(async () => {
  server = await startEmbeddedServer({
    untilExitOf: process.pid,
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': suggestAfterEvents },
  });
  [world, browser] = await Promise.all([
    connectTo(server).then((connected) => startGatewayWorld([walker], undefined, connected)),
    startBrowser(),
  ]);
});
afterAll(async () => {
  await browser.close();
  await world.dispose();
  await server.stop();
});

/** A run of many segments that has ended. */
async function longRun(): Promise<string> {
  world.emulator.script(({ messagesCount }) => {
    const number = (messagesCount + 1) / 2;
    if (number >= iterations) return reply.text('The end.');
    return reply.toolCalls([{ name: 'step', input: { number } }]);
  });
  const run = await world.client.start({ agent: 'walker', goal: 'Walk.', tenant: 'acme' });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  return run.runId;
}

/** Keeps the events from the run's beginning back until they are released. */
async function holdBeginning(page: Page): Promise<() => void> {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/events', async (route) => {
    if (route.request().headers()['last-event-id'] === '1.0.0') await released;
    await route.continue();
  });
  return release;
}

const entriesIn = async (page: Page, place: string): Promise<readonly string[]> =>
  (await page.locator(`${place} .entries li > span`).allTextContents()).sort();

test('the newest segment shows while the ones before it load, and then each entry once', async () => {
  const runId = await longRun();
  const at = { params: { path: { runId } } };
  const { data: run } = await world.api('acme').GET('/v1/runs/{runId}', at);
  expect(run?.segments).toBeGreaterThan(3);
  const { data: timeline } = await world.api('acme').GET('/v1/runs/{runId}/timeline', at);
  expect(run?.startedAtMs).toBe(timeline?.entries[0]?.atMs);

  const { page, accidents } = await openConsole(browser, world.url);
  await signIn(page, world.tokens.acme);
  const release = await holdBeginning(page);
  await page.goto(`${world.url}/#/runs/${encodeURIComponent(runId)}`);
  await page.locator(`#iteration-${iterations}`).waitFor();
  await page.getByText('earlier ones are loading').waitFor();
  expect(await page.locator('#iteration-1').count()).toBe(0);
  expect(await page.locator('.charts svg').count()).toBe(0);

  release();
  const all = iterations + 1;
  await page.getByText(`${all} of ${all} iterations, newest first`, { exact: true }).waitFor();
  const headings = await page.locator('.iteration h3').allTextContents();
  const numbers = Array.from({ length: iterations }, (_, index) => iterations - index);
  expect(headings.map((text) => text.split(' ').slice(0, 2).join(' '))).toEqual([
    ...numbers.map((number) => `Iteration ${number}`),
    expect.stringContaining('Start'),
  ]);
  await page.locator('.charts svg').first().waitFor();
  await page
    .getByText(`of ${2 * iterations}`, { exact: false })
    .first()
    .waitFor();

  const entries = await entriesIn(page, '.timeline');
  // Each side reads its run in order, from the beginning: its last entry comes last.
  const both = new URLSearchParams({ left: runId, right: runId }).toString();
  await page.goto(`${world.url}/#/compare?${both}`);
  const left = '.compare td:nth-child(2)';
  await page.locator(left).getByText('completed: The end.').waitFor();
  expect(await entriesIn(page, left)).toEqual(entries);
  expect(accidents).toEqual([]);
  await page.context().close();
});

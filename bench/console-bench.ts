/** Measures the console in Chromium: the list over many runs, the timeline of a long run, and how soon an event is seen. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { defineTool } from '../activities/tools/define-tool';
import { AgentClient } from '../client/agent-client';
import { reply } from '../testing/emulator/script';
import { signIn, startBrowser } from './console/browser';
import type { GatewayGround } from './scorecard/gateway/gateway-ground';
import { onGatewayGround } from './scorecard/gateway/gateway-ground';
import { startGateway } from './scorecard/gateway/gateway-process';

/** Milliseconds for starting the runs of the list; there are fewer where they cannot be started in the time. */
const startingMs = 120_000;
const startedAtOnce = 50;
/** Views of the list that are measured. */
const views = 9;
/** Live iterations whose events are measured. */
const liveIterations = 40;
const deadlineMs = 300_000;
/** Events after which a run rolls over: Temporal's own suggestion. */
const segmentEvents = 4_096;

const step = defineTool({
  name: 'step',
  description: 'Takes a step.',
  input: z.object({ number: z.number() }),
  effect: 'read',
  quick: true,
  execute: ({ number }) => `step ${number}`,
});

/** The result. All times in milliseconds, seen in the page. */
interface ConsoleResult {
  readonly runs: number;
  /** From the request of the page to the first run in it: median and worst. */
  readonly firstViewMs: readonly [median: number, worst: number];
  readonly iterations: number;
  /** From the request of the page to the whole timeline of the long run, and from a click to an older part of it. */
  readonly timelineMs: number;
  readonly olderMs: number;
  readonly events: number;
  /** From an event's own time to the moment at which it is in the page: median and worst. */
  readonly lagMs: readonly [median: number, worst: number];
}

function medianAndWorst(values: readonly number[]): readonly [number, number] {
  const sorted = [...values].sort((left, right) => left - right);
  const at = (place: number): number => Math.round(sorted[place] ?? NaN);
  return [at(Math.floor(sorted.length / 2)), at(sorted.length - 1)];
}

/** Starts runs that no worker takes, until there are enough or the time is over. */
async function startRuns({ temporal }: GatewayGround, runs: number): Promise<number> {
  const client = new AgentClient(temporal, { taskQueue: 'console-list' });
  const endAtMs = Date.now() + startingMs;
  let started = 0;
  const starter = async (): Promise<void> => {
    while (started < runs && Date.now() < endAtMs) {
      started += 1;
      await client.start({ agent: 'clerk', goal: 'Pay the bill.', tenant: 'globex' });
    }
  };
  await Promise.all(Array.from({ length: startedAtOnce }, starter));
  return started;
}

/** Milliseconds until `isThere` after the page of this place is asked for again. */
async function openingMs(page: Page, url: string, isThere: () => Promise<void>): Promise<number> {
  await page.goto('about:blank');
  const before = performance.now();
  await page.goto(url);
  await isThere();
  return performance.now() - before;
}

/** Plays a run to this many iterations; the last one answers. */
function play({ emulator }: GatewayGround, iterations: number): void {
  emulator.clearScripts();
  emulator.script(({ messagesCount }) => {
    const number = (messagesCount + 1) / 2;
    if (number >= iterations) return reply.text('The end.');
    return reply.toolCalls([{ name: 'step', input: { number } }]);
  });
}

/** Keeps in the page how late each new line of the timeline came. */
const watchLag = `
  globalThis.lags = [];
  const seen = new Set();
  new MutationObserver(() => {
    for (const line of document.querySelectorAll('.entries li')) {
      const atMs = Date.parse(line.querySelector('time').dateTime);
      const key = atMs + line.textContent;
      if (seen.has(key)) continue;
      seen.add(key);
      globalThis.lags.push(Date.now() - atMs);
    }
  }).observe(document.body, { childList: true, subtree: true });
`;

async function liveLags(
  ground: GatewayGround,
  page: Page,
  url: string,
): Promise<readonly number[]> {
  const { emulator, client } = ground;
  emulator.clearScripts();
  let count = 0;
  // The first call waits until somebody watches.
  let begin: () => void = () => undefined;
  const watched = new Promise<void>((resolve) => {
    begin = resolve;
  });
  emulator.script(async () => {
    await watched;
    await sleep(250);
    count += 1;
    return count < liveIterations
      ? reply.toolCalls([{ name: 'step', input: { number: count } }])
      : reply.text('The end.');
  });
  const { runId } = await client.start({ agent: 'stepper', goal: 'Step live.', tenant: 'acme' });
  await page.goto(`${url}/#/runs/${encodeURIComponent(runId)}`);
  await page.getByText('live', { exact: true }).waitFor();
  await page.evaluate(watchLag);
  begin();
  await page.getByText('completed: The end.').waitFor();
  return page.evaluate<readonly number[]>('globalThis.lags');
}

/** Runs it. */
export function consoleBench(iterations: number, runs: number): Promise<ConsoleResult> {
  const agent = {
    ...{ name: 'stepper', instructions: 'You take steps.', tools: [step] },
    chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
    limits: { maxIterations: iterations + 1, maxToolCalls: iterations, maxActiveMs: 3_600_000 },
    recovery: { mode: 'off' },
  } as const;
  return onGatewayGround((ground) => measured(ground, iterations, runs), {
    agents: [agent],
    segmentEvents,
  });
}

async function measured(
  ground: GatewayGround,
  iterations: number,
  wantedRuns: number,
): Promise<ConsoleResult> {
  const { client, settings, tokens } = ground;
  const gateway = await startGateway(settings);
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(deadlineMs);
    await page.goto(`${gateway.url}/`);
    await signIn(page, tokens.admin);
    const lags = await liveLags(ground, page, gateway.url);
    play(ground, iterations);
    const long = await client.start({ agent: 'stepper', goal: 'Step.', tenant: 'acme' });
    await long.outcome();
    const place = `${gateway.url}/#/runs/${encodeURIComponent(long.runId)}`;
    const timelineMs = await openingMs(page, place, () =>
      page.getByText(`50 of ${(iterations + 1).toLocaleString('en-US')} iterations`).waitFor(),
    );
    const before = performance.now();
    await page.getByRole('button', { name: 'Older' }).click();
    await page.getByRole('heading', { name: `Iteration ${iterations - 60} ` }).waitFor();
    const olderMs = performance.now() - before;
    const runs = await startRuns(ground, wantedRuns);
    const firstViews: number[] = [];
    for (let view = 0; view < views; view += 1)
      firstViews.push(
        await openingMs(page, `${gateway.url}/#/runs`, () =>
          page.locator('.runs tbody tr').first().waitFor(),
        ),
      );
    return {
      ...{ runs, firstViewMs: medianAndWorst(firstViews) },
      ...{ iterations, timelineMs: Math.round(timelineMs), olderMs: Math.round(olderMs) },
      ...{ events: lags.length, lagMs: medianAndWorst(lags) },
    };
  } finally {
    await browser.close();
    await gateway.kill();
  }
}

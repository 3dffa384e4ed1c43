/** Measures the console in Chromium: the list over many runs, a long run while it works and after its end, and how soon an event is seen. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Locator, Page } from 'playwright-core';
import { z } from 'zod';
import { defineTool } from '../activities/tools/define-tool';
import { AgentClient } from '../client/agent-client';
import type { RunHandle } from '../client/run-handle';
import { reply } from '../testing/emulator/script';
import { signIn, startBrowser } from './console/browser';
import type { GatewayGround } from './scorecard/gateway/gateway-ground';
import { onGatewayGround } from './scorecard/gateway/gateway-ground';
import type { GatewayProcess } from './scorecard/gateway/gateway-process';
import { startGateway } from './scorecard/gateway/gateway-process';

/** Milliseconds for starting the runs of the list; there are fewer where they cannot be started in the time. */
const startingMs = 120_000;
const startedAtOnce = 50;
/** Views of the list that are measured. */
const views = 9;
/** The last iterations of the long run, whose events are measured while they happen. */
const liveIterations = 40;
/** Iterations that a page of the timeline shows. */
const windowSize = 50;
/** How often the page of the long run is opened after its end. */
const openings = 5;
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
  readonly segments: number;
  /** The long run while it works, and after its end. */
  readonly live: OpeningTimes;
  readonly ended: OpeningTimes;
  /** From a click to an older part of the timeline. */
  readonly olderMs: number;
  /** Between two frames while the page scrolls from its top to its end. */
  readonly frameMs: readonly [median: number, worst: number];
  /** Elements of the page, megabytes of its heap, and of the gateway after the page was opened `openings` times. */
  readonly elements: number;
  readonly heapMb: number;
  readonly gatewayMb: number;
  readonly events: number;
  /** From an event's own time to the moment at which it is in the page: median and worst. */
  readonly lagMs: readonly [median: number, worst: number];
}

/** From the request of a run's page until it shows this. */
interface OpeningTimes {
  /** Its newest iterations. */
  readonly newestMs: number;
  /** All of them, behind the buttons. */
  readonly wholeMs: number;
  readonly whyMs: number;
  readonly transcriptMs: number;
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

/** A long run that waits before its last iterations until somebody watches. */
interface LongRun {
  readonly run: RunHandle;
  /** Resolves when only the live iterations are left. */
  readonly almostDone: Promise<void>;
  readonly goOn: () => void;
}

function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

async function startLongRun(
  { emulator, client }: GatewayGround,
  iterations: number,
): Promise<LongRun> {
  const [reached, watched] = [gate(), gate()];
  emulator.clearScripts();
  emulator.script(async ({ messagesCount }) => {
    const number = (messagesCount + 1) / 2;
    if (number > iterations - liveIterations) {
      reached.open();
      await watched.passed;
      await sleep(250);
    }
    if (number >= iterations) return reply.text('The end.');
    return reply.toolCalls([{ name: 'step', input: { number } }]);
  });
  const run = await client.start({ agent: 'stepper', goal: 'Step.', tenant: 'acme' });
  const early = run.outcome().then(({ status }) => {
    throw new Error(`the long run ended before its time: ${status}`);
  });
  early.catch(() => undefined);
  const almostDone = Promise.race([reached.passed, early]);
  return { run, almostDone, goOn: watched.open };
}

/** Opens the run's page and waits for all of its parts. */
async function openRun(page: Page, place: string, newest: number): Promise<OpeningTimes> {
  await page.goto('about:blank');
  const before = performance.now();
  const shows = async (part: Locator): Promise<number> => {
    await part.first().waitFor();
    return Math.round(performance.now() - before);
  };
  await page.goto(place);
  const whole = `${Math.min(newest + 1, windowSize)} of ${(newest + 1).toLocaleString('en-US')} iterations, newest first`;
  const [newestMs, wholeMs, whyMs, transcriptMs] = await Promise.all([
    shows(page.getByRole('heading', { name: `Iteration ${newest} ` })),
    shows(page.getByText(whole, { exact: true })),
    shows(page.locator('.why table')),
    shows(page.locator('.transcript .message')),
  ]);
  return { newestMs, wholeMs, whyMs, transcriptMs };
}

/** Milliseconds between frames while the page scrolls to its end. */
const scrolled = `
  new Promise((resolve) => {
    const gaps = [];
    let last = performance.now();
    const step = (now) => {
      gaps.push(now - last);
      last = now;
      scrollBy(0, 60);
      if (scrollY + innerHeight < document.documentElement.scrollHeight - 1) requestAnimationFrame(step);
      else resolve(gaps.slice(1));
    };
    requestAnimationFrame(step);
  })
`;

/** Keeps in the page how late each line of the timeline came that is not there yet. */
const watchLag = `
  globalThis.lags = [];
  const seen = new Set();
  const look = (lags) => {
    for (const line of document.querySelectorAll('.entries li')) {
      const atMs = Date.parse(line.querySelector('time').dateTime);
      const key = atMs + line.textContent;
      if (seen.has(key)) continue;
      seen.add(key);
      lags.push(Date.now() - atMs);
    }
  };
  look([]);
  new MutationObserver(() => look(globalThis.lags)).observe(document.body, { childList: true, subtree: true });
`;

/** How late the last iterations of the run come into its page, which is open. */
async function liveLags(page: Page, { goOn }: LongRun): Promise<readonly number[]> {
  await page.getByText('live', { exact: true }).waitFor();
  await page.evaluate(watchLag);
  goOn();
  await page.getByText('completed: The end.').waitFor();
  return page.evaluate<readonly number[]>('globalThis.lags');
}

function memoryMb({ child }: GatewayProcess): number {
  const status = readFileSync(`/proc/${child.pid ?? ''}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024);
}

/** Runs it. */
export function consoleBench(iterations: number, runs: number): Promise<ConsoleResult> {
  const agent = {
    ...{ name: 'stepper', instructions: 'You take steps.', tools: [step] },
    chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
    limits: {
      ...{ maxIterations: iterations + 1, maxToolCalls: iterations, maxActiveMs: 3_600_000 },
      // Two for each iteration.
      maxEvents: 3 * iterations,
    },
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
  const { settings, tokens } = ground;
  const gateway = await startGateway(settings);
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(deadlineMs);
    await page.goto(`${gateway.url}/`);
    await signIn(page, tokens.admin);
    const ofRun = await measureRun(ground, page, gateway, iterations);
    const runs = await startRuns(ground, wantedRuns);
    const firstViews: number[] = [];
    for (let view = 0; view < views; view += 1)
      firstViews.push(
        await openingMs(page, `${gateway.url}/#/runs`, () =>
          page.locator('.runs tbody tr').first().waitFor(),
        ),
      );
    return { ...{ runs, firstViewMs: medianAndWorst(firstViews), iterations }, ...ofRun };
  } finally {
    await browser.close();
    await gateway.kill();
  }
}

async function measureRun(
  ground: GatewayGround,
  page: Page,
  gateway: GatewayProcess,
  iterations: number,
): Promise<Omit<ConsoleResult, 'runs' | 'firstViewMs' | 'iterations'>> {
  const long = await startLongRun(ground, iterations);
  await long.almostDone;
  const place = `${gateway.url}/#/runs/${encodeURIComponent(long.run.runId)}`;
  const live = await openRun(page, place, iterations - liveIterations + 1);
  const lags = await liveLags(page, long);
  await long.run.outcome();
  const opened: OpeningTimes[] = [];
  for (let opening = 0; opening < openings; opening += 1)
    opened.push(await openRun(page, place, iterations));
  const frames = await page.evaluate<readonly number[]>(scrolled);
  const [elements, heapBytes] = await page.evaluate<readonly [number, number]>(
    '[document.querySelectorAll("*").length, performance.memory.usedJSHeapSize]',
  );
  const before = performance.now();
  await page.getByRole('button', { name: 'Older' }).click();
  await page.getByRole('heading', { name: `Iteration ${iterations - windowSize - 10} ` }).waitFor();
  const olderMs = Math.round(performance.now() - before);
  const { segments } = await long.run.status();
  return {
    ...{ segments, live, ended: medianTimes(opened), olderMs, frameMs: medianAndWorst(frames) },
    ...{ elements, heapMb: Math.round(heapBytes / 2 ** 20), gatewayMb: memoryMb(gateway) },
    ...{ events: lags.length, lagMs: medianAndWorst(lags) },
  };
}

/** The median of each. */
function medianTimes(times: readonly OpeningTimes[]): OpeningTimes {
  const median = (of: (each: OpeningTimes) => number): number => medianAndWorst(times.map(of))[0];
  return {
    newestMs: median(({ newestMs }) => newestMs),
    wholeMs: median(({ wholeMs }) => wholeMs),
    whyMs: median(({ whyMs }) => whyMs),
    transcriptMs: median(({ transcriptMs }) => transcriptMs),
  };
}

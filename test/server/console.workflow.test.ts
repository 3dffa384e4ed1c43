/** The console in a real Chromium, over real runs. */
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import { defineTool } from '../../activities/tools/define-tool';
import { signIn, startBrowser } from '../../bench/console/browser';
import { hostileText } from '../../bench/scorecard/gateway/page-attacks';
import { reply } from '../../testing/index';
import { eventually, testModel } from '../support/agent-world';
import { accessProblems, desk, openConsole, overflow, phone } from './support/browser';
import { BreakableProxy } from './support/breakable-proxy';
import type { GatewayWorld } from './support/gateway-world';
import { startGatewayWorld } from './support/gateway-world';

const pay = defineTool({
  name: 'pay',
  description: 'Pays a bill.',
  input: z.object({ bill: z.string(), usd: z.number() }),
  effect: 'keyed',
  approval: 'always',
  execute: ({ bill, usd }) => `paid ${bill}: ${usd} USD`,
});
const echo = defineTool({
  name: 'echo',
  description: 'Gives a text back.',
  input: z.object({ text: z.string() }),
  effect: 'read',
  execute: ({ text }) => text,
});

const chain = [{ provider: 'anthropic', model: testModel }] as const;
const agents: readonly AgentDefinition[] = [
  { name: 'clerk', instructions: 'You pay bills.', chain, tools: [pay] },
  { name: 'asker', instructions: 'You ask.', chain, tools: [], completion: 'tool' },
  {
    ...{ name: 'echoer', instructions: 'You echo.', chain, tools: [echo] },
    limits: { maxIterations: 500, maxToolCalls: 500 },
  },
  {
    ...{ name: 'boss', instructions: 'You delegate.', chain },
    tools: [defineSubagent({ name: 'clerk', description: 'Pays.', agent: 'echoer' })],
  },
];

let world: GatewayWorld;
let browser: Browser;
beforeAll(async () => {
  [world, browser] = await Promise.all([startGatewayWorld(agents), startBrowser()]);
});
afterEach(() => {
  world.emulator.clearScripts();
});
afterAll(async () => {
  await browser.close();
  await world.dispose();
});

const api = () => world.api('acme');
const at = (runId: string) => ({ params: { path: { runId } } });

async function start(agent: string, goal: string): Promise<string> {
  const { data } = await api().POST('/v1/runs', { body: { agent, goal } });
  return data?.runId ?? '';
}

/** Waits until the run is as a test needs it. */
async function until(
  runId: string,
  isMet: (run: { status: string; pending: readonly object[] }) => boolean,
): Promise<string> {
  const ask = async () => (await api().GET('/v1/runs/{runId}', at(runId))).data;
  await eventually(ask, (run) => run !== undefined && isMet(run));
  return runId;
}

const ended = ({ status }: { status: string }) => status !== 'running' && status !== 'waiting';
const asks = ({ pending }: { pending: readonly object[] }) => pending.length > 0;

async function waitingRun(bill = 'A-17'): Promise<string> {
  world.emulator.clearScripts();
  world.emulator.script(({ messagesCount }) =>
    messagesCount === 1
      ? reply.toolCalls([{ name: 'pay', input: { bill, usd: 12 } }])
      : reply.text('The end.'),
  );
  return until(await start('clerk', 'Pay the bill.'), asks);
}

async function goTo(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(place)}`);
}
const runPlace = (runId: string) => `#/runs/${encodeURIComponent(runId)}`;

/** The card of a run's wait in the inbox. */
const cardOf = (page: Page, runId: string) =>
  page.getByRole('article').filter({ has: page.getByRole('link', { name: runId }) });

/** Presses Tab until the focus is on a control of this name inside an element. */
async function tabTo(page: Page, name: string, inside = 'body'): Promise<void> {
  const isThere = `document.activeElement.matches(${JSON.stringify(`${inside} *`)}) && document.activeElement.textContent.trim() === ${JSON.stringify(name)}`;
  for (let press = 0; press < 200; press += 1) {
    if ((await page.evaluate(isThere)) === true) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`no way to "${name}" by keyboard`);
}

test('a decision needs a keyboard alone, from the sign-in to the end of the run', async () => {
  const runId = await waitingRun();
  const { page, accidents } = await openConsole(browser, world.url);
  await page.getByLabel('Token').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type(world.tokens.acme);
  await page.keyboard.press('Tab');
  await page.keyboard.type('Ada');
  await page.keyboard.press('Enter');
  await cardOf(page, runId).waitFor();
  await page.keyboard.press('Tab');
  await tabTo(page, runId);
  await tabTo(page, 'Approve');
  await page.keyboard.press('Enter');
  await page.getByText('It was approved by Ada (acme).').first().waitFor();
  await until(runId, ended);
  expect(page.url()).not.toContain(world.tokens.acme);
  expect(await page.evaluate('document.cookie + JSON.stringify(localStorage)')).toBe('{}');
  expect(accidents).toEqual([]);
  await page.context().close();
});

test('edits are checked before they are sent; rejections and answers reach the model', async () => {
  const { page, accidents } = await openConsole(browser, world.url);
  await signIn(page, world.tokens.acme);
  const posts: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(request.url());
  });
  const edited = await waitingRun();
  await goTo(page, runPlace(edited));
  await page.getByRole('button', { name: 'Edit' }).click();
  const field = page.getByLabel('Arguments to run with');
  for (const wrong of ['{ "bill": ', '[1]', 'null']) {
    await field.fill(wrong);
    await page.getByRole('button', { name: 'Approve with these' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
  }
  expect(posts).toEqual([]);
  await field.fill('{ "bill": "A-17", "usd": 11 }');
  await page.getByRole('button', { name: 'Approve with these' }).click();
  await page.getByText('paid A-17: 11 USD').first().waitFor();

  const rejected = await waitingRun();
  await goTo(page, runPlace(rejected));
  await page.getByRole('button', { name: 'Reject' }).click();
  await page.getByLabel('Reason, which the model reads').fill('Too much for a bill.');
  await page.getByRole('button', { name: 'Reject', exact: true }).click();
  await until(rejected, ended);
  expect(JSON.stringify(world.emulator.requests.at(-1)?.body)).toContain('Too much for a bill.');

  world.emulator.clearScripts();
  world.emulator.script([
    reply.toolCalls([{ name: 'ask_user', input: { question: 'Which one?' } }]),
    reply.toolCalls([{ name: 'complete_task', input: { summary: 'the second' } }]),
  ]);
  const asking = await until(await start('asker', 'Choose.'), asks);
  await goTo(page, '#/inbox');
  const card = cardOf(page, asking);
  await card.getByLabel('Your answer').fill('The second one.');
  await card.getByRole('button', { name: 'Answer' }).click();
  await until(asking, ended);
  expect(JSON.stringify(world.emulator.requests.at(-1)?.body)).toContain('The second one.');
  expect(accidents).toEqual([]);
  await page.context().close();
});

/** What a colleague does at another desk. */
async function approveAsBob(runId: string): Promise<void> {
  const [item] = (await api().GET('/v1/runs/{runId}', at(runId))).data?.pending ?? [];
  if (item?.type !== 'approval') throw new Error('no approval waits');
  await api().POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
    params: { path: { runId, approvalId: item.approvalId } },
    body: { digest: item.digest, by: 'Bob' },
  });
}

test('a decision that somebody else made meanwhile is shown as theirs', async () => {
  const [clicked, watched] = [await waitingRun(), await waitingRun()];
  const { page, accidents } = await openConsole(browser, world.url);
  await signIn(page, world.tokens.acme);
  for (const runId of [clicked, watched]) await cardOf(page, runId).waitFor();
  // The list learns nothing more until the click is answered.
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/v1/inbox*', async (route) => {
    await held;
    await route.continue();
  });
  await cardOf(page, clicked).getByRole('button', { name: 'Reject' }).click();
  await page.getByLabel('Reason, which the model reads').fill('No.');
  for (const runId of [clicked, watched]) await approveAsBob(runId);
  await cardOf(page, clicked).getByRole('button', { name: 'Reject', exact: true }).click();
  await cardOf(page, clicked).getByText('Your decision was not needed.').waitFor();
  release();
  for (const runId of [clicked, watched])
    await cardOf(page, runId).getByText('It was approved by Bob (acme).').waitFor();
  expect(accidents).toEqual([]);
  await page.context().close();
});

test('who may only look sees what waits, and no button that acts', async () => {
  const runId = await waitingRun();
  const { page } = await openConsole(browser, world.url);
  await page.getByLabel('Token').fill('hf_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('no token that this gateway knows').waitFor();
  await signIn(page, world.tokens.reader);
  await cardOf(page, runId).getByText('may look, but not decide').waitFor();
  expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  await goTo(page, runPlace(runId));
  await page.getByRole('button', { name: 'Compare' }).waitFor();
  expect(await page.getByRole('button', { name: /Stop|Cancel|Fork|Message/ }).count()).toBe(0);
  await page.context().close();
});

test('an address that changes before the first page is drawn is followed', async () => {
  const { page } = await openConsole(browser, world.url);
  await page.evaluate(`new MutationObserver((_changes, observer) => {
    if (document.querySelector('nav') === null) return;
    observer.disconnect();
    location.hash = '#/providers';
  }).observe(document.body, { childList: true, subtree: true })`);
  await signIn(page, world.tokens.acme);
  await page.getByRole('heading', { name: 'Providers' }).waitFor();
  await page.context().close();
});

test('a timeline goes on behind the last entry when the connection breaks', async () => {
  const proxy = await BreakableProxy.start(world.url);
  const runId = await waitingRun();
  const { page } = await openConsole(browser, proxy.url);
  await signIn(page, world.tokens.acme);
  await goTo(page, runPlace(runId));
  await page.getByText('waiting for approval of pay').first().waitFor();
  proxy.refuse();
  await page.getByText('connection lost').waitFor();
  await api().POST('/v1/runs/{runId}/cancel', at(runId));
  await until(runId, ended);
  proxy.allow();
  const timeline = page.getByRole('region', { name: 'Timeline' });
  await timeline.getByText('ended', { exact: true }).waitFor();
  const entries = await timeline.locator('.entries li').allTextContents();
  expect(entries.filter((text) => text.includes('run of clerk')).length).toBe(1);
  expect(entries.filter((text) => text.includes('cancelled:')).length).toBe(1);
  await page.context().close();
  await proxy.stop();
});

test('a long run shows a window at a time, forks after an iteration, and compares', async () => {
  const iterations = 60;
  let count = 0;
  world.emulator.script(() => {
    count += 1;
    return count <= iterations
      ? reply.toolCalls([{ name: 'echo', input: { text: `part ${count}` } }])
      : reply.text('All parts.');
  });
  const runId = await until(await start('echoer', 'Echo.'), ended);
  const { page, accidents } = await openConsole(browser, world.url);
  await signIn(page, world.tokens.acme);
  await goTo(page, runPlace(runId));
  await page.getByText(`${iterations + 2} iterations`).waitFor();
  expect(await page.locator('.iteration').count()).toBe(50);
  const has = (number: number) => page.getByRole('heading', { name: `Iteration ${number} ` });
  await has(iterations + 1).waitFor();
  await page.getByRole('button', { name: 'Older' }).click();
  await has(iterations - 49).waitFor();
  await page.getByLabel('Iteration', { exact: true }).fill('7');
  await page.getByRole('button', { name: 'Go' }).click();
  await has(7).waitFor();
  await page.getByText('done echo: part 7', { exact: false }).first().waitFor();
  await page.getByRole('button', { name: 'Latest' }).click();
  await has(iterations + 1).waitFor();

  world.emulator.clearScripts();
  world.emulator.script([reply.text('Another end.')]);
  await page.getByRole('button', { name: 'Fork' }).click();
  await page.getByLabel('After iteration').fill('3');
  await page.getByLabel('Message to the model').fill('Stop here.');
  await page.getByRole('button', { name: 'Start the fork' }).click();
  await page.getByText('completed: Another end.').waitFor();
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByLabel('Id of the other run').fill(runId);
  await page.getByRole('button', { name: 'Show both' }).click();
  const row = page
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name: '1', exact: true }) });
  await row.getByText('completed: Another end.').waitFor();
  await row.getByText('done echo: part 1').waitFor();
  expect(accidents).toEqual([]);
  await page.context().close();
});

test('every page is accessible by day, by night and on a phone, and hostile text stays text', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'echo', input: { text: hostileText } }]),
    reply.toolCalls([{ name: 'nothing', input: { text: hostileText } }]),
    reply.text(hostileText),
  ]);
  const hostile = await until(await start('echoer', hostileText), ended);
  world.emulator.clearScripts();
  world.emulator.script([
    reply.toolCalls([{ name: 'clerk', input: { task: hostileText } }]),
    reply.text('half'),
    reply.text('whole'),
  ]);
  const parent = await until(await start('boss', 'Delegate.'), ended);
  world.emulator.clearScripts();
  const waiting = await waitingRun(hostileText);
  world.emulator.clearScripts();
  world.emulator.script([
    reply.toolCalls([{ name: 'ask_user', input: { question: hostileText } }]),
  ]);
  await until(await start('asker', hostileText), asks);
  const places: readonly (readonly [place: string, text: string])[] = [
    ['#/inbox', 'alert(1)'],
    ['#/runs', hostile],
    [runPlace(hostile), 'healed invalid_tool'],
    [runPlace(parent), 'Subagents'],
    [runPlace(waiting), 'waiting for approval of pay'],
    ['#/providers', 'healthy'],
    [`#/compare?${new URLSearchParams({ left: hostile, right: waiting }).toString()}`, 'alert(1)'],
    [runPlace(hostileText), 'There is no run'],
  ];
  for (const look of [desk, { ...desk, colorScheme: 'dark' } as const, phone]) {
    const { page, accidents } = await openConsole(browser, world.url, look);
    await page.getByLabel('Token').waitFor();
    expect(await accessProblems(page)).toEqual([]);
    await signIn(page, world.tokens.acme);
    for (const [place, text] of places) {
      await goTo(page, place);
      await page.locator('main').getByText(text).first().waitFor();
      for (const button of ['Edit', 'Fork', 'Its subagents'])
        for (const found of await page.getByRole('button', { name: button }).all())
          await found.click();
      expect([place, await accessProblems(page)]).toEqual([place, []]);
      expect([place, await overflow(page)]).toEqual([place, 0]);
    }
    expect(await page.locator('main script, main img, main iframe').count()).toBe(0);
    expect(accidents).toEqual([]);
    await page.context().close();
  }
});

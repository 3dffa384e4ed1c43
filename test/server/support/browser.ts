/** Pages of the console for tests, and what went wrong in them. */
import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';

/** How a page is looked at. */
export interface Look {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
}

/** A wide screen by day. */
export const desk: Look = { width: 1280, height: 900, colorScheme: 'light' };
/** A phone by night. */
export const phone: Look = { width: 390, height: 844, colorScheme: 'dark' };

/** A page, and what must not happen in it: scripts of others, errors, requests to other places. */
export interface WatchedPage {
  readonly page: Page;
  readonly accidents: readonly string[];
}

/** Ends what hangs; no test measures by it. */
const deadlineMs = 180_000;

/** A page at the console's sign-in. */
export async function openConsole(
  browser: Browser,
  url: string,
  { width, height, colorScheme }: Look = desk,
): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(deadlineMs);
  const accidents: string[] = [];
  page.on('dialog', (dialog) => {
    accidents.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', ({ message }) => accidents.push(`error: ${message}`));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) accidents.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`) && !request.url().startsWith('data:'))
      accidents.push(`request: ${request.url()}`);
  });
  await page.goto(`${url}/`);
  return { page, accidents };
}

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong with the page as it is, each with the element. */
export async function accessProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<AxeResults>('globalThis.axe.run(document)');
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** CSS pixels by which the page is wider than its window. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
}

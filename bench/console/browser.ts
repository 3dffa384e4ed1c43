/** Chromium, and a person who signs in to the console. */
import type { Browser, Page } from 'playwright-core';
import { chromium } from 'playwright-core';

/** Starts Chromium: `HOLDFAST_CHROMIUM`, or the system's. */
export function startBrowser(): Promise<Browser> {
  const quiet = ['background-networking', 'component-update', 'sync', 'gpu', 'quic'];
  return chromium.launch({
    executablePath: process.env['HOLDFAST_CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--no-first-run', ...quiet.map((what) => `--disable-${what}`)],
  });
}

/** Signs in as a person would. */
export async function signIn(page: Page, token: string, by = 'Ada'): Promise<void> {
  await page.getByLabel('Token').fill(token);
  await page.getByLabel('Your name').fill(by);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages', exact: true }).waitFor();
}

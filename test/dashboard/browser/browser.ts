/** A real browser, and what it must never do on any page: ask elsewhere, break the policy, throw. */

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, onTestFinished } from 'vitest';

let browser: Browser;
/** A limit for what hangs. */
const longestMs = 150_000;

export function withBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: inject('chromiumPath') ?? '',
      args: ['--disable-gpu', '--disable-dev-shm-usage'],
      timeout: longestMs,
    });
  });
  afterAll(() => browser.close());
}

export interface Opened {
  readonly page: Page;
  /** Requests of the page, and of others that are opened beside it, by path and query. */
  readonly asked: string[];
}

/** Hides a page, or shows it, as it would find it: in a headless browser every tab is shown. */
export async function setVisibility(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })`);
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
}

/**
 * Waits until the expression is true in the page. Playwright's own `waitForFunction` evaluates text there, which the
 * policy forbids.
 */
export async function holds(page: Page, expression: string): Promise<void> {
  await expect.poll(() => page.evaluate(expression), { message: expression }).toBe(true);
}

/** Holds back the requests to an address. @returns lets them go. */
export async function holdBack(page: Page, url: string): Promise<() => void> {
  let allow = () => {};
  const isAllowed = new Promise<void>((resolve) => {
    allow = resolve;
  });
  await page.route(url, async (route) => {
    await isAllowed;
    await route.continue();
  });
  return allow;
}

/** The test fails at its end where the page has asked another origin, violated its policy, or thrown. */
export async function open(url: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  context.setDefaultTimeout(longestMs);
  const page = await context.newPage();
  const { origin } = new URL(url);
  const wrong: string[] = [];
  const asked: string[] = [];
  context.on('request', (request) => {
    const at = new URL(request.url());
    if (at.origin === origin) asked.push(`${at.pathname}${at.search}`);
    else wrong.push(`asked ${request.url()}`);
  });
  context.on('weberror', (event) => wrong.push(`threw ${event.error().stack}`));
  context.on('console', (message) => {
    // A connection that a test breaks is told there as well.
    if (/Content.Security.Policy|Trusted/i.test(message.text())) wrong.push(message.text());
  });
  onTestFinished(async () => {
    await context.close();
    expect(wrong).toEqual([]);
  });
  await page.goto(url);
  return { page, asked };
}

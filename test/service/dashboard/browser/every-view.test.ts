/** What holds for every view of the dashboard, and for the pages beside it: it moves nothing while it loads, fits the screen, and is accessible. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeNeeding } from '../../../parts/describe-needing.ts';
import { expectAccessible } from './accessible.ts';
import { open, withBrowser } from './browser.ts';
import { type FilledWorld, openFilledWorld } from './filled-world.ts';

describeNeeding('chromium', 'every view in a browser', () => {
  withBrowser();
  let world: FilledWorld;
  beforeAll(async () => {
    world = await openFilledWorld();
    world.stopWork();
  });
  afterAll(() => world.close());

  const views = () => [
    '',
    '?view=problems',
    '?view=events',
    '?view=list&list=assets',
    `?series=${world.seriesId}`,
    'docs',
    'keys',
    'no-such-page',
  ];

  it.each([360, 820, 1280])('moves nothing that is seen while it loads, %i px wide', async (width) => {
    for (const view of views()) {
      const { page } = await open(`${world.url}${view}`, { viewport: { width, height: 800 } });
      await page.addInitScript(
        `window.shifted = 0;
         new PerformanceObserver((list) => {
           for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
         }).observe({ type: 'layout-shift', buffered: true });`,
      );
      await page.reload();
      await page.locator('main h1, main h2').first().waitFor();
      await page.waitForLoadState('networkidle').catch(() => {});
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      expect(Number(await page.evaluate('window.shifted')), `${view} at ${width}`).toBeLessThan(0.1);
      const inner = await page.evaluate('document.documentElement.scrollWidth');
      expect(inner, `${view} at ${width}`).toBe(width);
    }
  });

  it.each([360, 820, 1280].flatMap((width) => [[width, 'light'] as const, [width, 'dark'] as const]))(
    'is accessible, %i px wide, %s',
    async (width, colorScheme) => {
      for (const view of views()) {
        const { page } = await open(`${world.url}${view}`, { colorScheme, viewport: { width, height: 800 } });
        await page.locator('main h1, main h2').first().waitFor();
        await page.waitForLoadState('networkidle').catch(() => {});
        await expectAccessible(page, `${view} at ${width}, ${colorScheme}`);
      }
    },
  );
});

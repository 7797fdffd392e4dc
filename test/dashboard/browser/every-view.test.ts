/**
 * What holds for every view of the dashboard, and for the pages beside it: it moves nothing while it loads, fits the
 * screen, and is accessible.
 */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { isoTime } from '../../../model/format.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { expectAccessible } from './accessible.ts';
import { open, withBrowser } from './browser.ts';
import { type FilledWorld, hole, openFilledWorld } from './filled-world.ts';

describeNeeding('chromium', 'every view in a browser', () => {
  withBrowser();
  let world: FilledWorld;
  beforeAll(async () => {
    world = await openFilledWorld();
    world.stopWork();
  });
  afterAll(() => world.close());

  const views = () => [
    ...['', '?view=problems', '?view=backfills', '?view=events', '?view=list&list=assets', `?series=${world.seriesId}`],
    `?series=${world.seriesId}&since=${isoTime(hole.startMs)}&until=${isoTime(hole.endMs)}&zone=Asia/Kolkata`,
    ...['docs', 'keys', 'no-such-page'],
  ];
  /** Before any script of the page. */
  const watchShifts = `
    window.shifted = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });`;

  const widths = [360, 390, 1024, 1440];
  it.each(widths.flatMap((width) => (['light', 'dark'] as const).map((scheme) => [width, scheme] as const)))(
    'moves nothing that is seen, fits and is accessible, %i px wide, %s',
    async (width, colorScheme) => {
      const { page } = await open(`${world.url}docs`, { viewport: { width, height: 800 }, colorScheme });
      await page.addInitScript(watchShifts);
      const scrollWidth = () => page.evaluate('document.documentElement.scrollWidth');
      for (const view of views()) {
        await page.goto(`${world.url}${view}`);
        await page.locator('main h1, main h2').first().waitFor();
        await page.waitForLoadState('networkidle').catch(() => {});
        await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
        expect(Number(await page.evaluate('window.shifted')), `${view} at ${width}`).toBeLessThan(0.1);
        expect(await scrollWidth(), `${view} at ${width}`).toBe(width);
        // Forms and tables of values are in what is folded.
        await page.evaluate('for (const part of document.querySelectorAll("details")) part.open = true');
        await expectAccessible(page, `${view} at ${width}, ${colorScheme}`);
      }
    },
  );
});

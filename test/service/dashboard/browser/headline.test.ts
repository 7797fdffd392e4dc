import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { hourMs } from '../../../../contract/intervals.ts';
import { trackSeries } from '../../../../store/series/series.ts';
import { describeNeeding } from '../../../parts/describe-needing.ts';
import { commitPoints } from '../../../store/committing.ts';
import { openTestStore, type TestStore } from '../../../store/open-store.ts';
import { type DashboardWorld, market, openDashboardWorld, quietQueue } from '../dashboard-world.ts';
import { expectAccessible } from './accessible.ts';
import { open, withBrowser } from './browser.ts';

describeNeeding('chromium', 'the headline in a browser', () => {
  withBrowser();
  let store: TestStore;
  let world: DashboardWorld;
  const endMs = Math.floor(Date.now() / hourMs) * hourMs - hourMs;
  const startMs = endMs - 100 * hourMs;

  beforeEach(async () => {
    store = await openTestStore();
    world = await openDashboardWorld(store);
  });
  afterEach(async () => {
    await world.close();
    await store.close();
  });

  const headline = (page: Page, level: string, words: string | RegExp) =>
    page.locator(`.headline[data-level="${level}"]`, { hasText: words }).waitFor();

  async function track(base: string, coveredHours: number): Promise<number> {
    const series = { ...market, baseId: base };
    const { seriesId } = await trackSeries(store.database, series, startMs, endMs);
    if (coveredHours > 0)
      await commitPoints(store.database, {
        ...{ seriesId, series, window: { startMs, endMs: startMs + coveredHours * hourMs } },
      });
    return seriesId;
  }
  const pend = (seriesId: number, verdict: 'failed' | 'empty') =>
    store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), $4, 'HTTP 500', now(), now() + interval '1 hour')`,
      [seriesId, (startMs + 50 * hourMs) / 1000, endMs / 1000, verdict],
    );

  it('follows the state of the whole, on every view', async () => {
    const { page } = await open(world.url);
    await headline(page, 'waiting', /Nothing is tracked|No series is tracked/);
    await track('bitcoin', 100);
    await headline(page, 'ok', 'Up to date: 1 series');
    await expectAccessible(page, 'the healthy overview');
    await track('ethereum', 50);
    world.queue = { ...quietQueue, facts: { schedulers: 1, sources: [] } };
    await headline(page, 'bad', 'No worker is connected: 1 window left');
    world.queue = { ...quietQueue, facts: { ...quietQueue.facts, schedulers: 0 } };
    await headline(page, 'bad', 'No scheduler is connected: 1 window left');
    await page.getByRole('link', { name: 'Problems' }).click();
    await headline(page, 'bad', 'No scheduler is connected');
    world.queue = null;
    await headline(page, 'bad', 'The queue does not answer');
    await expectAccessible(page, 'the problems while the queue is away');
    world.queue = quietQueue;
    await page.locator('.headline[data-level="bad"]').waitFor({ state: 'detached' });
  });

  it('says that the database is away, and how old the figures are', async () => {
    await track('bitcoin', 50);
    const { page } = await open(world.url);
    await page.locator('.series').getByText('50.00 %').waitFor();
    await store.database.pool.query('alter table tidemark.series rename to away');
    await headline(page, 'bad', 'The database does not answer');
    await page.getByText(/^The figures are \d+ \w+ old\.$/).waitFor();
    expect(await page.locator('body.stale').count()).toBe(1);
    await expectAccessible(page, 'old figures');
    await store.database.pool.query('alter table tidemark.away rename to series');
    await page.locator('body:not(.stale)').waitFor();
    await page.locator('.age').waitFor({ state: 'hidden' });
  });

  it('names ranges that failed, and leads to them', async () => {
    await pend(await track('bitcoin', 50), 'failed');
    const { page } = await open(world.url);
    const text = page.locator('.headline, .also li', { hasText: /fail/i }).first();
    await text.waitFor();
    await text.getByRole('link', { name: 'Show' }).click();
    await page.getByText('HTTP 500').first().waitFor();
    expect(new URL(page.url()).search).toBe('?view=problems');
  });

  it('names ranges that await a second answer, and leads to their series', async () => {
    await pend(await track('bitcoin', 50), 'empty');
    await track('ethereum', 100);
    const { page } = await open(world.url);
    const text = page.locator('.headline, .also li', { hasText: 'second answer' }).first();
    await text.waitFor();
    await text.getByRole('link', { name: 'Show' }).click();
    await page.getByText('1 to 1 of 1 series').waitFor();
    expect(new URL(page.url()).search).toBe('?filter=awaiting');
    await page.locator('.series').getByText('kraken bitcoin/euro').waitFor();
    await expect.poll(() => isListOnTop(page)).toBe(true);
  });

  it('leads to the list of series from a backlog', async () => {
    await track('bitcoin', 50);
    const { page } = await open(world.url);
    await page.locator('.headline').getByRole('link', { name: 'Show' }).click();
    await expect.poll(() => isListOnTop(page)).toBe(true);
  });

  /** Whether the list of series begins in the upper half of the screen. */
  async function isListOnTop(page: Page): Promise<boolean> {
    const box = await page.locator('#series').boundingBox();
    return box !== null && box.y >= 0 && box.y < 450;
  }

  it('filters the series, in the address too', async () => {
    await pend(await track('bitcoin', 50), 'failed');
    await track('ethereum', 100);
    await track('solana', 100);
    const { page } = await open(`${world.url}?filter=complete`);
    await page.getByText('1 to 2 of 2 series').waitFor();
    const chip = (name: string) => page.getByRole('button', { name });
    expect(await chip('Complete 2').getAttribute('aria-pressed')).toBe('true');
    await chip('Failing 1').click();
    await page.getByText('1 to 1 of 1 series').waitFor();
    expect(new URL(page.url()).search).toBe('?filter=failing');
    await page.reload();
    await page.getByText('1 to 1 of 1 series').waitFor();
    await expectAccessible(page, 'filtered series');
    await chip('Failing 1').click();
    await page.getByText('1 to 3 of 3 series').waitFor();
    expect(new URL(page.url()).search).toBe('');
  });

  it('tells how to begin where nothing is tracked', async () => {
    const { page } = await open(world.url);
    await page.getByText('Begin here').waitFor();
    expect(await page.locator('.steps code').allTextContents()).toEqual([
      'npx tidemark sources',
      expect.stringMatching(/^npx tidemark backfill candles .* --dry-run$/),
      expect.stringMatching(/^npx tidemark backfill candles .* 1y$/),
    ]);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('npx tidemark sources');
    await track('bitcoin', 50);
    await page.getByText('Begin here').waitFor({ state: 'hidden' });
  });
});

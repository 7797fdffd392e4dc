/** The overview in a browser: what arrives by the stream, what breaks it, the keyboard, and the layout. */

import { once } from 'node:events';
import { get } from 'node:http';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../../contract/intervals.ts';
import { maxStreams } from '../../../../service/dashboard/live.ts';
import { trackSeries } from '../../../../store/series/series.ts';
import { describeNeeding } from '../../../parts/describe-needing.ts';
import { commitPoints } from '../../../store/committing.ts';
import { openTestStore, type TestStore } from '../../../store/open-store.ts';
import { type DashboardWorld, market, openDashboardWorld, quietQueue } from '../dashboard-world.ts';
import { expectAccessible } from './accessible.ts';
import { holds, open, setVisibility, withBrowser } from './browser.ts';

describeNeeding('chromium', 'the overview in a browser', () => {
  withBrowser();
  let store: TestStore;
  let world: DashboardWorld;
  let aheadMs = 0;
  const endMs = Math.floor(Date.now() / hourMs) * hourMs;
  const startMs = endMs - 100 * hourMs;
  const half = { startMs, endMs: startMs + 50 * hourMs };

  beforeAll(async () => {
    store = await openTestStore();
    world = await openDashboardWorld(store, {}, 0, () => Date.now() + aheadMs);
  });
  afterAll(async () => {
    await world.close();
    await store.close();
  });

  /** A series of the test's own, of which the second half is missing. @returns also what fetches it. */
  async function halfCovered(baseId: string) {
    const series = { ...market, baseId };
    const { seriesId } = await trackSeries(store.database, series, startMs, endMs);
    const commit = (window: { startMs: number; endMs: number }) =>
      commitPoints(store.database, { seriesId, series, window });
    await commit(half);
    return {
      seriesId,
      name: `kraken ${baseId}/euro h1`,
      complete: () => commit({ startMs: half.endMs, endMs }),
    };
  }
  const fail = (seriesId: number, message = 'HTTP 500') =>
    store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', $4, now(), now() + interval '1 hour')`,
      [seriesId, half.endMs / 1000, (half.endMs + hourMs) / 1000, message],
    );
  const untrackAll = () => store.database.pool.query('update tidemark.series set untracked_at = now()');
  const hideStore = () => store.database.pool.query('alter table tidemark.series rename to away');
  const showStore = () => store.database.pool.query('alter table tidemark.away rename to series');

  const connection = (page: Page, words: string) => page.locator('.connection').getByText(words).waitFor();
  const rowOf = (page: Page, seriesId: number) => page.locator(`[data-series="${seriesId}"]`);
  const headline = (page: Page, level: string, words: string) =>
    page.locator(`.headline[data-level="${level}"]`, { hasText: words }).waitFor();

  it('shows tracking, queueing, failures and commits live, by one stream', async () => {
    await untrackAll();
    const { page, asked } = await open(`${world.url}docs`);
    await page.clock.install();
    await page.goto(world.url);
    await headline(page, 'waiting', 'othing is tracked');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('npx tidemark sources');

    await store.database.pool.query(
      `with made as (insert into tidemark.lists (list, every) values ('assets', '5 minutes') returning id)
       insert into tidemark.list_polls (list_id, begun_at, time, answered_at, pages, rows, changed, completed_at)
       select id, t, t, t, 1, 7, 0, t from made, (select now() - interval '5 seconds' as t) as begun`,
    );
    // Ages grow without events.
    const newest = page.getByRole('row', { name: /^assets/ }).locator('[data-title="Newest"]');
    await newest.getByText(/^\d+ s ago$/).waitFor();
    const age = await newest.textContent();
    await expect.poll(() => newest.textContent()).not.toBe(age);

    const { seriesId, complete } = await halfCovered('live');
    const row = rowOf(page, seriesId);
    await row.getByText('50.00 %').waitFor();
    await page.getByText('Begin here').waitFor({ state: 'hidden' });
    await row.locator('rect.gap').waitFor();
    await row.getByRole('img', { name: '50.00 % covered, 1 gap, 2 d 2 h missing' }).waitFor();
    await page.locator('#progress-text', { hasText: '1 window left' }).waitFor();
    await page.locator('.calendar [data-state="gap"]').first().waitFor();

    const depth = { waiting: 7, active: 2, delayed: 0, workers: 3, pausedMs: 0 };
    world.queue = { ...quietQueue, depth, windows: new Map([[seriesId, [{ startMs: half.endMs, endMs }]]]) };
    await page.getByText('7 waiting, 2 active, 3 workers').waitFor();
    await row.locator('rect.inFlight').waitFor();
    world.queue = { ...quietQueue, facts: { schedulers: 1, sources: [] } };
    await headline(page, 'bad', 'No worker is connected: 1 window left');
    world.queue = null;
    await headline(page, 'bad', 'The queue does not answer');
    world.queue = quietQueue;

    await fail(seriesId);
    await row.locator('rect.failed').waitFor();
    const failed = page.locator('.headline, .also li', { hasText: /fail/i }).first();
    await failed.getByRole('link', { name: 'Show' }).click();
    await page.getByText('HTTP 500').first().waitFor();
    expect(new URL(page.url()).search).toBe('?view=problems');
    await page.getByRole('link', { name: 'Overview' }).click();

    await complete();
    await headline(page, 'ok', 'Up to date: 1 series');
    await row.getByText('100 %').waitFor();
    await row.locator('rect.gap').waitFor({ state: 'detached' });
    expect(asked.filter((path) => path === '/dashboard/events')).toHaveLength(1);
    // Later than the page waits for further changes, and than the server keeps the answer.
    aheadMs += minuteMs;
    await page.clock.fastForward(20_000);
    await page.locator('.calendar [data-state="gap"]').first().waitFor({ state: 'detached' });
    await untrackAll();
    await row.waitFor({ state: 'detached' });
  });

  it('filters, finds, sorts and turns pages in the address, requesting fifty bands at a time', async () => {
    const many = await openTestStore();
    await many.database.pool.query(
      `insert into tidemark.series (dataset, exchange_id, base_id, quote_id, interval, period, tracked, covered)
       select 'candles', 'exchange-' || i % 10, 'asset-' || i, 'tether', 'h1', '1 hour', r,
              tstzmultirange(r) - tstzmultirange(tstzrange(lower(r), lower(r) + i * interval '1 hour'))
       from generate_series(0, 99) i, tstzrange('2024-01-01Z', '2024-06-01Z') r`,
    );
    const beside = await openDashboardWorld(many);
    onTestFinished(async () => {
      await beside.close();
      await many.close();
    });
    const { page, asked } = await open(beside.url);
    const first = (name: string) =>
      page.locator('.series tbody tr:first-child th', { hasText: name }).waitFor();
    await page.getByText('1 to 50 of 100 series').waitFor();
    await first('exchange-9 asset-99/tether h1');
    await page.locator('.series tbody tr:last-child rect.covered').waitFor();
    expect(asked.filter((path) => path.startsWith('/dashboard/bands'))).toHaveLength(1);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('51 to 100 of 100 series').waitFor();
    await page.getByLabel('Find').fill('EXCHANGE-3 asset-9');
    await page.getByText('1 to 1 of 1 series').waitFor();
    await page.getByLabel('Find').fill('');
    await page.getByLabel('Sort').selectOption('by name');
    await first('exchange-0 asset-0/tether h1');
    await page.getByRole('button', { name: 'Complete 1' }).click();
    await page.getByText('1 to 1 of 1 series').waitFor();
    expect(new URL(page.url()).search).toBe('?filter=complete&sort=name');
    await page.reload();
    await page.getByText('1 to 1 of 1 series').waitFor();
    await page.getByLabel('Time').selectOption('from the earliest to now');
    // Of the years since nothing is wanted: the band is drawn at its beginning only.
    await holds(
      page,
      "Number(document.querySelector('.series tbody rect.covered')?.getAttribute('width') ?? 240) < 100",
    );
  });

  it('reports an unreadable store, keeps the old state, and reads again by itself when it is back', async () => {
    const { seriesId } = await halfCovered('troubled');
    const { page } = await open(world.url);
    await rowOf(page, seriesId).getByText('50.00 %').waitFor();
    await hideStore();
    await connection(page, 'The store cannot be read. Showing the state as of');
    await headline(page, 'bad', 'The database does not answer');
    await page.locator('body.stale').waitFor();
    await page.getByText(/^The figures are \d+ \w+ old\.$/).waitFor();
    await rowOf(page, seriesId).getByText('50.00 %').waitFor();
    await expectAccessible(page, 'the overview in trouble');
    await page.getByRole('link', { name: 'Problems' }).click();
    await page.getByText('Cannot load').waitFor();
    await showStore();
    await connection(page, 'Live');
    await page.locator('body:not(.stale)').waitFor();
    await page.getByText('No window failed').or(page.getByText('in all')).first().waitFor();
  });

  it('waits for room for its stream, and catches up after a lost connection, with its password', async () => {
    const { seriesId, complete } = await halfCovered('lost');
    const password = 'correct horse battery';
    const access = { kind: 'password', password } as const;
    let guarded = await openDashboardWorld(store, { access });
    onTestFinished(() => guarded.close());
    const headers = { authorization: `Basic ${Buffer.from(`a:${password}`).toString('base64')}` };
    const others = await Promise.all(
      Array.from({ length: maxStreams }, async () => {
        const request = get(`${guarded.url}dashboard/events`, { agent: false, headers });
        const [{ statusCode }] = await once(request, 'response');
        expect(statusCode).toBe(200);
        return request;
      }),
    );
    expect((await fetch(`${guarded.url}dashboard/events`)).status).toBe(401);
    const address = `${guarded.url}?series=${seriesId}`;
    const { page, asked } = await open(address, { httpCredentials: { username: 'operator', password } });
    await connection(page, 'Not connected, trying again.');
    for (const other of others) other.destroy();
    await connection(page, 'Live');
    await page.getByText('1 gap of 2 d 2 h').waitFor();
    const details = () => asked.filter((path) => path === `/dashboard/series/${seriesId}`).length;
    const before = details();
    await guarded.close();
    await connection(page, 'Not connected, trying again. Showing the state as of');
    expect(details()).toBe(before);
    await expectAccessible(page, 'the page of a series without a connection');
    await complete();
    guarded = await openDashboardWorld(store, { access }, Number(new URL(address).port));
    await page.locator('.facts', { hasText: '100 % covered' }).waitFor();
    await connection(page, 'Live');
  });

  it('is live in the visible tab beside many hidden tabs', async () => {
    const { seriesId, complete } = await halfCovered('hidden');
    const first = await open(world.url);
    const pages = [first.page];
    await connection(first.page, 'Live');
    // A browser has six connections to a host.
    for (const address of ['', `?series=${seriesId}`, '?view=problems', '', '', '', '']) {
      for (const before of pages.slice(-1)) await setVisibility(before, 'hidden');
      const page = await first.page.context().newPage();
      await page.goto(`${world.url}${address}`);
      await connection(page, 'Live');
      pages.push(page);
    }
    await connection(first.page, 'Not connected while the page is hidden.');
    await rowOf(first.page, seriesId).getByText('50.00 %').waitFor();
    await complete();
    await setVisibility(first.page, 'visible');
    await connection(first.page, 'Live');
    await rowOf(first.page, seriesId).getByText('100 %').waitFor();
  });

  it('is usable by keyboard from the list to a chart value and back', async () => {
    const { seriesId, name } = await halfCovered('keyboard');
    const { page } = await open(`${world.url}?find=keyboard`);
    await rowOf(page, seriesId).getByText('50.00 %').waitFor();
    const focused = () =>
      page.evaluate(
        'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
      );
    const tabTo = async (what: RegExp) => {
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press('Tab');
        if (what.test(String(await focused()))) return;
      }
      throw new Error(`the Tab key never reaches ${what}`);
    };
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    await tabTo(/^kraken keyboard/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByText('Every candle of h1, as stored.').waitFor();
    await tabTo(/^Chart from/);
    await page.keyboard.press('Shift+ArrowRight');
    await page.locator('.exact', { hasText: 'close' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('returns to the place on a page that was left by a link', async () => {
    const { seriesId, name } = await halfCovered('placed');
    await fail(seriesId);
    const { page } = await open(`${world.url}?find=placed`, { viewport: { width: 1200, height: 250 } });
    const scrolled = (where: string) => holds(page, `scrollY ${where}`);
    // At the click, because what loads until then moves the page.
    const keepLeft = () =>
      page.evaluate("addEventListener('click', () => { window.left = scrollY; }, { capture: true })");
    await keepLeft();
    for (const view of ['Overview', 'Problems']) {
      if (view === 'Problems') await page.getByRole('link', { name: view, exact: true }).click();
      const link = page.locator('main').getByRole('link', { name }).last();
      await link.click();
      await page.getByRole('heading', { name }).waitFor();
      expect(await page.evaluate('left'), view).toBeGreaterThan(0);
      await scrolled('=== 0');
      await page.goBack();
      await link.waitFor();
      await scrolled('=== left');
    }
    // Within a view as well: the tile leads to the requests, which are further down.
    await page.goto(world.url);
    await keepLeft();
    const tile = page.getByRole('link', { name: 'Queue', exact: true });
    await tile.click();
    await scrolled('> left');
    await page.goBack();
    await scrolled('=== left');
  });

  it('fits a narrow screen, and breaks no word of a table on a wide one', async () => {
    const { seriesId } = await halfCovered('fitted');
    const long = {
      ...market,
      exchange: 'an-exchange-with-quite-a-long-name',
      baseId: 'wrapped-staked-fitted',
    };
    await trackSeries(store.database, long, endMs - 400 * dayMs, null);
    await fail(seriesId, `HTTP 500: ${'x'.repeat(300)}`);
    const { page } = await open(`${world.url}?find=fitted`, { viewport: { width: 1280, height: 900 } });
    /** Words of up to twenty letters that are on more than one line. */
    const broken = () =>
      page.evaluate(`[...document.querySelectorAll('thead th, tbody th, td')].flatMap((cell) => {
        const found = [];
        const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const text = texts.currentNode;
          for (const { 0: word, index } of text.data.matchAll(/[A-Za-z0-9.,:]{2,20}/g)) {
            const range = document.createRange();
            range.setStart(text, index);
            range.setEnd(text, index + word.length);
            const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
            if (lines.size > 1) found.push(word);
          }
        }
        return found.filter((word) => !/^x+$/.test(word));
      })`);
    const width = () => page.evaluate('document.documentElement.scrollWidth');
    await rowOf(page, seriesId).getByText('1 h failed').waitFor();
    expect([await broken(), await width()], 'overview').toEqual([[], 1280]);
    await page.getByRole('link', { name: 'Problems' }).click();
    await page.getByText('HTTP 500: x').first().waitFor();
    expect([await broken(), await width()], 'problems').toEqual([[], 1280]);

    const narrow = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const { page: small } = await open(`${world.url}?find=fitted`, narrow);
    const card = rowOf(small, seriesId);
    await card.getByText('50.00 %').waitFor();
    expect((await card.boundingBox())?.height, 'the card of a series').toBeLessThan(120);
    await small.goto(`${world.url}?series=${seriesId}`);
    await small.getByText('Every candle of h1, as stored.').waitFor();
    expect(await small.evaluate('document.documentElement.scrollWidth')).toBe(360);
    const chart = await small.getByRole('group', { name: /^Chart from/ }).boundingBox();
    expect(chart?.y, 'the chart is on the first screen').toBeLessThan(740 / 2 + 150);
  });
});

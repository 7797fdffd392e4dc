import { once } from 'node:events';
import { get } from 'node:http';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { dayMs, hourMs, minuteMs } from '../../../../contract/intervals.ts';
import { maxStreams } from '../../../../service/dashboard/live.ts';
import { blockSeries, trackSeries } from '../../../../store/series/series.ts';
import { describeNeeding } from '../../../parts/describe-needing.ts';
import { commitPoints } from '../../../store/committing.ts';
import { openTestStore, type TestStore } from '../../../store/open-store.ts';
import { type DashboardWorld, market, openDashboardWorld, quietQueue } from '../dashboard-world.ts';
import { expectAccessible } from './accessible.ts';
import { open, setVisibility, withBrowser } from './browser.ts';

describeNeeding('chromium', 'the overview in a browser', () => {
  withBrowser();
  let store: TestStore;
  let world: DashboardWorld;
  const endMs = Math.floor(Date.now() / hourMs) * hourMs;
  const startMs = endMs - 100 * hourMs;
  const half = { startMs, endMs: startMs + 50 * hourMs };

  beforeEach(async () => {
    store = await openTestStore();
    world = await openDashboardWorld(store);
  });
  afterEach(async () => {
    await world.close();
    await store.close();
  });

  async function halfCovered(): Promise<number> {
    const { seriesId } = await trackSeries(store.database, market, startMs, endMs);
    await commitPoints(store.database, { seriesId, series: market, window: half });
    return seriesId;
  }

  const connection = (page: Page) => page.locator('.connection');
  const rowOf = (page: Page, seriesId: number) => page.locator(`[data-series="${seriesId}"]`);

  it('shows every series with its band and updates after a commit', async () => {
    const seriesId = await halfCovered();
    const { page, asked } = await open(world.url);
    const row = rowOf(page, seriesId);
    await row.getByText('50.00 %').waitFor();
    await row.locator('rect.gap').first().waitFor();
    await row.getByRole('img', { name: '50.00 % covered, 1 gap, 2 d 2 h missing' }).waitFor();
    await page.locator('#progress-text', { hasText: '1 window left' }).waitFor();
    await commitPoints(store.database, {
      ...{ seriesId, series: market, window: { startMs: half.endMs, endMs } },
    });
    await row.getByText('100 %').waitFor();
    await page.getByText('Complete: nothing is left to fetch.').waitFor();
    await page.getByText('2 requests, at most').waitFor();
    await expect.poll(() => row.locator('rect.gap').count()).toBe(0);
    expect(asked.filter((path) => path.startsWith('/?'))).toEqual([]);
    // One page, one stream: everything came by it, but for the bands.
    expect(asked.filter((path) => path === '/dashboard/events')).toHaveLength(1);
  });

  it('shows tracking, untracking, queueing and failures live', async () => {
    const { page } = await open(world.url);
    await page.getByText('Begin here').waitFor();
    const seriesId = await halfCovered();
    const row = rowOf(page, seriesId);
    await row.getByText('50.00 %').waitFor();
    world.queue = {
      ...quietQueue,
      depth: { waiting: 7, active: 2, delayed: 0, workers: 3, pausedMs: 0 },
      perMinute: 200,
      windows: new Map([[seriesId, [{ startMs: half.endMs, endMs }]]]),
    };
    await page.getByText('7 waiting, 2 active, 3 workers').waitFor();
    await row.locator('rect.inFlight').waitFor();
    await row.getByText('1 in flight').waitFor();
    world.queue = null;
    await page.getByText('unavailable').waitFor();
    await store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', 'HTTP 500', now(), now())`,
      [seriesId, half.endMs / 1000, (half.endMs + hourMs) / 1000],
    );
    await row.locator('rect.failed').waitFor();
    await page.locator('[data-fact="Failing"]', { hasText: '1' }).waitFor();
    await store.database.pool.query('update tidemark.series set untracked_at = now()');
    await row.waitFor({ state: 'detached' });
  });

  it('updates the coverage by month', async () => {
    const seriesId = await halfCovered();
    let aheadMs = 0;
    const moving = await openDashboardWorld(store, {}, 0, () => Date.now() + aheadMs);
    onTestFinished(() => moving.close());
    const { page } = await open(`${moving.url}docs`);
    await page.clock.install();
    await page.goto(moving.url);
    const calendar = page.getByRole('group', { name: 'Coverage by month' });
    const isCovered = async () =>
      (
        await calendar
          .locator('td[data-state]')
          .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('data-state')))
      ).every((state) => state === 'covered');
    await calendar.locator('[data-state="gap"]').first().waitFor();
    const window = { startMs: half.endMs, endMs };
    await commitPoints(store.database, { seriesId, series: market, window });
    await rowOf(page, seriesId).getByText('100 %').waitFor();
    aheadMs = minuteMs;
    await page.clock.fastForward(20_000);
    await expect.poll(isCovered).toBe(true);
  });

  it('updates the months of a series when only a request failed', async () => {
    const seriesId = await halfCovered();
    const { page } = await open(`${world.url}?series=${seriesId}`);
    const calendar = page.getByRole('group', { name: 'Coverage by month' });
    await calendar.locator('[data-state="gap"]').first().waitFor();
    await store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', 'HTTP 500', now(), now())`,
      [seriesId, half.endMs / 1000, (half.endMs + hourMs) / 1000],
    );
    await calendar.locator('[data-state="failed"]').first().waitFor();
  });

  it('shows a refused series and excludes it from the estimate', async () => {
    const seriesId = await halfCovered();
    await blockSeries(store.database, {
      seriesId,
      kind: 'not_found',
      message: 'no such market',
      untilMs: Date.now() + dayMs,
    });
    const { page } = await open(world.url);
    await page.getByText('0 windows left; 1 more is refused by the source').waitFor();
    await page.locator('[data-fact="Failing"]', { hasText: '1' }).waitFor();
    await page.getByRole('link', { name: 'Problems' }).click();
    const row = page.getByRole('row', { name: 'kraken bitcoin/euro h1' });
    await row.getByText('the whole series').waitFor();
    await page.locator('.cause', { has: row }).getByText('no such market').waitFor();
    await page.getByText('1 in all').waitFor();
  });

  it('shows that no period of a future series has closed', async () => {
    const beginsMs = Math.floor(Date.now() / dayMs + 1000) * dayMs;
    const { seriesId } = await trackSeries(store.database, market, beginsMs, null);
    const { page, asked } = await open(world.url);
    const words = `tracked from ${new Date(beginsMs).toISOString().slice(0, 10)} onward`;
    await rowOf(page, seriesId).getByRole('cell', { name: words }).first().waitFor();
    await rowOf(page, seriesId).getByRole('img', { name: words, exact: true }).waitFor();
    await page.getByText('1, 0 complete').waitFor();
    await page.getByRole('link', { name: 'kraken bitcoin/euro h1' }).click();
    await page.getByText(`${words} · 0 points`).waitFor();
    await page.getByText('No stored data in this range.').waitFor();
    expect(asked.filter((path) => path.includes('/points?'))).toHaveLength(1);
  });

  it('ignores unknown values in the URL', async () => {
    await halfCovered();
    const { page } = await open(`${world.url}?axis=toString&sort=valueOf&page=-1`);
    await page.getByText('1 to 1 of 1 series').waitFor();
    await page.getByText('Coverage: each from its beginning to now').waitFor();
    expect(await page.getByLabel('Sort').inputValue()).toBe('missing');
  });

  it('reports that no series is tracked', async () => {
    const { page } = await open(world.url);
    await page.getByText('Begin here').waitFor();
    await page.getByText('No list is polled.').waitFor();
    await page.locator('.series').waitFor({ state: 'hidden' });
    await expectAccessible(page, 'the empty overview');
  });

  it('reports an unreadable store, keeps the old state, and recovers by itself', async () => {
    const seriesId = await halfCovered();
    const { page } = await open(world.url);
    await rowOf(page, seriesId).getByText('50.00 %').waitFor();
    await store.database.pool.query('alter table tidemark.series rename to away');
    await connection(page).getByText('The store cannot be read. Showing the state as of').waitFor();
    await rowOf(page, seriesId).getByText('50.00 %').waitFor();
    await expectAccessible(page, 'the overview in trouble');
    await store.database.pool.query('alter table tidemark.away rename to series');
    await connection(page).getByText('Live').waitFor();
  });

  it('reloads the problems when the store is back', async () => {
    await halfCovered();
    const { page } = await open(`${world.url}?view=problems`);
    await page.getByText('No window failed').waitFor();
    await connection(page).getByText('Live').waitFor();
    await store.database.pool.query('alter table tidemark.series rename to away');
    await connection(page).getByText('The store cannot be read.').waitFor();
    await page.getByRole('button', { name: 'Read again' }).click();
    await page.getByText('Cannot load').waitFor();
    await store.database.pool.query('alter table tidemark.away rename to series');
    await page.getByText('No window failed').waitFor();
  });

  it('updates the ages of lists without events', async () => {
    await store.database.pool.query(
      `with made as (insert into tidemark.lists (list, every) values ('assets', '5 minutes') returning id)
       insert into tidemark.list_polls (list_id, begun_at, time, answered_at, pages, rows, changed, completed_at)
       select id, t, t, t, 1, 7, 0, t from made, (select now() - interval '5 seconds' as t) as begun`,
    );
    const { page } = await open(world.url);
    const newest = page.getByRole('row', { name: /^assets/ }).locator('[data-title="Newest"]');
    await expect.poll(() => newest.textContent()).toMatch(/^\d+ s ago$/);
    const first = await newest.textContent();
    await expect.poll(() => newest.textContent()).not.toBe(first);
  });

  it('reports a lost connection and catches up afterwards', async () => {
    const seriesId = await halfCovered();
    const { page } = await open(world.url);
    await rowOf(page, seriesId).getByText('50.00 %').waitFor();
    await world.close();
    await connection(page).getByText('Not connected, trying again. Showing the state as of').waitFor();
    await expectAccessible(page, 'the overview without a connection');
    await commitPoints(store.database, {
      ...{ seriesId, series: market, window: { startMs: half.endMs, endMs } },
    });
    world = await openDashboardWorld(store, {}, Number(new URL(world.url).port));
    await rowOf(page, seriesId).getByText('100 %').waitFor();
    await connection(page).getByText('Live').waitFor();
  });

  it('is live in the visible tab beside many hidden tabs', async () => {
    const seriesId = await halfCovered();
    const first = await open(world.url);
    const pages = [first.page];
    await connection(first.page).getByText('Live').waitFor();
    // A browser has six connections to a host.
    for (const address of ['', `?series=${seriesId}`, '?view=problems', '', '', '', '']) {
      for (const before of pages.slice(-1)) await setVisibility(before, 'hidden');
      const page = await first.page.context().newPage();
      await page.goto(`${world.url}${address}`);
      await connection(page).getByText('Live').waitFor();
      pages.push(page);
    }
    await connection(first.page).getByText('Not connected while the page is hidden.').waitFor();
    await rowOf(first.page, seriesId).getByText('50.00 %').waitFor();
    await commitPoints(store.database, {
      ...{ seriesId, series: market, window: { startMs: half.endMs, endMs } },
    });
    await setVisibility(first.page, 'visible');
    await connection(first.page).getByText('Live').waitFor();
    await rowOf(first.page, seriesId).getByText('100 %').waitFor();
    await setVisibility(first.page, 'hidden');
    await connection(first.page).getByText('Not connected while').waitFor();
  });

  it('waits while too many pages are open', async () => {
    const others = await Promise.all(
      Array.from({ length: maxStreams }, async () => {
        const request = get(`${world.url}dashboard/events`, { agent: false });
        const [{ statusCode }] = await once(request, 'response');
        expect(statusCode).toBe(200);
        return request;
      }),
    );
    const { page } = await open(world.url);
    await connection(page).getByText('Not connected, trying again.').waitFor();
    for (const other of others) other.destroy();
    await connection(page).getByText('Live').waitFor();
  });

  it('requires the password for page, stream and requests', async () => {
    const seriesId = await halfCovered();
    const password = 'correct horse battery';
    const guarded = await openDashboardWorld(store, { access: { kind: 'password', password } });
    try {
      const { page } = await open(guarded.url, { httpCredentials: { username: 'operator', password } });
      await rowOf(page, seriesId).locator('rect.gap').first().waitFor();
      await connection(page).getByText('Live').waitFor();
      expect((await fetch(`${guarded.url}dashboard/events`)).status).toBe(401);
      expect((await fetch(`${guarded.url}dashboard/events`, { method: 'HEAD' })).status).toBe(405);
    } finally {
      await guarded.close();
    }
  });

  it('shows names as text', async () => {
    const name = '<img src=x onerror="window.hit=1">';
    const { seriesId } = await trackSeries(store.database, { ...market, exchange: name }, startMs, endMs);
    await store.database.pool.query(
      `insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw) values (now(), 'candles', $1, $2, $2)`,
      [seriesId, `</code>${name}`],
    );
    await store.database.pool.query(
      `insert into tidemark.fetches (time, dataset, series_id, lane, attempt, verdict, duration_ms, error)
       values (now(), 'candles', $1, 'backfill', 1, 'refused', 1, $2)`,
      [seriesId, name],
    );
    const { page } = await open(world.url);
    await rowOf(page, seriesId).getByText(name).waitFor();
    await page.locator('[data-fact="Quarantine"]', { hasText: '1 row' }).waitFor();
    await page.getByRole('link', { name: 'Problems' }).click();
    await page.getByText(`</code>${name}`).first().waitFor();
    await page
      .getByRole('link', { name: `${name} bitcoin/euro h1` })
      .first()
      .click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByText(`refused: ${name}`).waitFor();
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(await page.locator('img').count()).toBe(0);
  });

  it('filters, sorts and pages a thousand series, requesting fifty bands at a time', async () => {
    await store.database.pool.query(
      `insert into tidemark.series (dataset, exchange_id, base_id, quote_id, interval, period, tracked, covered)
       select 'candles', 'exchange-' || i % 10, 'asset-' || i, 'tether', 'h1', '1 hour', r,
              tstzmultirange(r) - tstzmultirange(tstzrange(lower(r), lower(r) + i * interval '1 hour'))
       from generate_series(0, 999) i, tstzrange('2024-01-01Z', '2024-06-01Z') r`,
    );
    const { page, asked } = await open(world.url);
    await page.getByText('1 to 50 of 1,000 series').waitFor();
    await page.getByText('1,000, 1 complete').waitFor();
    const bands = () => asked.filter((path) => path.startsWith('/dashboard/bands'));
    await expect.poll(() => page.locator('tbody rect.covered').count()).toBe(50);
    expect(bands()).toHaveLength(1);
    expect(await page.locator('.series tbody tr').count()).toBe(50);
    const firstName = () => page.locator('.series tbody th').first().textContent();
    expect(await firstName()).toBe('exchange-9 asset-999 h1'.replace(' h1', '/tether h1'));
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('51 to 100 of 1,000 series').waitFor();
    expect(new URL(page.url()).search).toBe('?page=2');
    await page.reload();
    await page.getByText('51 to 100 of 1,000 series').waitFor();
    await page.getByLabel('Find').fill('EXCHANGE-3 asset-99');
    await page.getByText('1 to 1 of 1 series').waitFor();
    await page.getByLabel('Find').fill('nothing such');
    await page.getByText('No series has such a name.').waitFor();
    await page.getByLabel('Find').fill('');
    await page.getByLabel('Sort').selectOption('by name');
    await expect.poll(firstName).toBe('exchange-0 asset-0/tether h1');
    await page.getByLabel('Time').selectOption('from the earliest to now');
    await page.getByText(/Coverage: 2024-01-01 to /).waitFor();
    // Of the years since nothing is wanted: the band is drawn at its beginning only.
    await expect
      .poll(() => page.locator('.series tbody rect.covered').first().getAttribute('width').then(Number))
      .toBeLessThan(100);
  });

  it('does not break words in tables on a wide screen', async () => {
    const seriesId = await halfCovered();
    const long = { ...market, exchange: 'an-exchange-with-quite-a-long-name', baseId: 'wrapped-staked' };
    await trackSeries(store.database, long, endMs - 400 * dayMs, null);
    await store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', $4, now(), now())`,
      [seriesId, half.endMs / 1000, (half.endMs + hourMs) / 1000, `HTTP 500: ${'x'.repeat(300)}`],
    );
    const { page } = await open(world.url, { viewport: { width: 1280, height: 900 } });
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
    await rowOf(page, seriesId).getByText('1 h failed').waitFor();
    expect(await broken(), 'overview').toEqual([]);
    await page.getByRole('link', { name: 'Problems' }).click();
    await page.getByText('HTTP 500').first().waitFor();
    expect(await broken(), 'problems').toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(1280);
    await page.goto(`${world.url}?series=${seriesId}`);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    expect(await broken(), 'series').toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(1280);
  });

  it('fits a narrow screen', async () => {
    const seriesId = await halfCovered();
    const long = {
      ...market,
      exchange: 'an-exchange-with-quite-a-long-name',
      baseId: 'wrapped-staked-something',
    };
    await trackSeries(store.database, long, endMs - 400 * dayMs, null);
    const narrow = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
    const { page } = await open(world.url, narrow);
    const fits = async (view: string) => {
      const width = await page.evaluate('document.documentElement.scrollWidth');
      expect(width, view).toBe(360);
    };
    await rowOf(page, seriesId).getByText('50.00 %').waitFor();
    await fits('overview');
    const card = await rowOf(page, seriesId).boundingBox();
    expect(card?.height, 'the card of a series').toBeLessThan(120);
    await expectAccessible(page, 'the narrow overview');
    await page.getByRole('link', { name: 'Problems' }).click();
    await page.getByRole('heading', { name: 'Quarantine' }).waitFor();
    await fits('problems');
    await page.goto(`${world.url}?series=${seriesId}`);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    await fits('series');
    const chart = await page.getByRole('group', { name: /^Chart from/ }).boundingBox();
    expect(chart?.y, 'the chart is on the first screen').toBeLessThan(740 / 2 + 150);
    await expectAccessible(page, 'the narrow page of a series');
  });

  it('returns to the place on a page that was left by a link', async () => {
    const seriesId = await halfCovered();
    await store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', 'HTTP 500', now(), now())`,
      [seriesId, half.endMs / 1000, endMs / 1000],
    );
    const { page } = await open(world.url, { viewport: { width: 1200, height: 250 } });
    const scrolled = async () => Number(await page.evaluate('scrollY'));
    for (const view of ['Overview', 'Problems']) {
      await page.getByRole('link', { name: view, exact: true }).click();
      const link = page.locator('main').getByRole('link', { name: 'kraken bitcoin/euro h1' });
      await link.hover();
      const before = await scrolled();
      expect(before, view).toBeGreaterThan(0);
      await link.click();
      await page.getByRole('heading', { name: 'kraken bitcoin/euro h1' }).waitFor();
      await expect.poll(scrolled, { message: view }).toBe(0);
      await page.goBack();
      await link.waitFor();
      await expect.poll(scrolled, { message: view }).toBe(before);
    }
    await page.goto(world.url);
    await page.evaluate('scrollTo(0, 100)');
    await page.getByRole('link', { name: 'Queue', exact: true }).hover();
    const before = await scrolled();
    await page.getByRole('link', { name: 'Queue', exact: true }).click();
    await expect.poll(scrolled).toBeGreaterThan(before);
    await page.goBack();
    await expect.poll(scrolled).toBe(before);
  });

  it('is usable by keyboard from the list to a chart value and back', async () => {
    const seriesId = await halfCovered();
    const { page } = await open(world.url);
    await rowOf(page, seriesId).getByText('50.00 %').waitFor();
    const focused = () =>
      page.evaluate(
        'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent',
      );
    const tabTo = async (what: RegExp) => {
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press('Tab');
        if (what.test(String(await focused()))) return;
      }
      throw new Error(`the Tab key never reaches ${what}`);
    };
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the content');
    await tabTo(/^kraken bitcoin/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'kraken bitcoin/euro h1' }).waitFor();
    await page.getByText('Every candle of h1, as stored.').waitFor();
    await tabTo(/^Chart from/);
    await page.keyboard.press('Shift+ArrowRight');
    await page.locator('.exact', { hasText: 'close' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('has accessible pages in light and dark themes', async () => {
    const seriesId = await halfCovered();
    const lists = `insert into tidemark.lists (list, every) values ('assets', '5 minutes')`;
    await store.database.pool.query(lists);
    await store.database.pool.query(
      `insert into tidemark.quarantine (seen_at, dataset, series_id, reason, raw) values (now(), 'candles', $1, 'r', 'x')`,
      [seriesId],
    );
    await store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, verdict, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', 'HTTP 500', now(), now())`,
      [seriesId, half.endMs / 1000, (half.endMs + hourMs) / 1000],
    );
    world.queue = { ...quietQueue, windows: new Map([[seriesId, [{ startMs, endMs: startMs + minuteMs }]]]) };
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await open(world.url, { colorScheme });
      await rowOf(page, seriesId).locator('rect.failed').waitFor();
      await page.getByText('Minute by minute').click();
      await page.getByText('Minutes with requests').waitFor();
      await expectAccessible(page, `the overview, ${colorScheme}`);
      await page.getByRole('link', { name: 'Problems' }).click();
      await page.getByText('HTTP 500').first().waitFor();
      await expectAccessible(page, `the problems, ${colorScheme}`);
      await page.getByRole('link', { name: 'kraken bitcoin/euro h1' }).first().click();
      await page.getByText('Every candle of h1, as stored.').waitFor();
      await page.getByText('The values on screen as a table').click();
      await page.locator('details table').waitFor();
      await expectAccessible(page, `the page of a series, ${colorScheme}`);
    }
  });
});

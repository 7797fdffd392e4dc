/** The overview in a browser: what arrives by the stream, what breaks it, the keyboard, and the layout. */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { datasets } from '../../../model/datasets/index.ts';
import { formatTime } from '../../../model/format.ts';
import { dayMs, hourMs, minuteMs } from '../../../model/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { endPause, writePause } from '../../../store/settings/settings.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { commitPoints } from '../../store/committing.ts';
import { useStore } from '../../store/open-store.ts';
import { type DashboardWorld, market, openDashboardWorld, quietQueue } from '../dashboard-world.ts';
import { expectAccessible } from './accessible.ts';
import { holdBack, holds, open, setVisibility, withBrowser } from './browser.ts';

describeNeeding('chromium', 'the overview in a browser', () => {
  withBrowser();
  const store = useStore();
  let world: DashboardWorld;
  // An hour that has closed, whatever the grace.
  const endMs = (Math.floor(Date.now() / hourMs) - 1) * hourMs;
  const startMs = endMs - 100 * hourMs;
  const half = { startMs, endMs: startMs + 50 * hourMs };

  beforeAll(async () => {
    world = await openDashboardWorld(store);
  });
  afterAll(() => world.close());

  /** A series of the test's own, of which the second half is missing. @returns also what fetches it. */
  async function halfCovered(baseId: string) {
    const series = { ...market, baseId };
    const { seriesId } = await trackSeries(store.database, series, startMs, endMs);
    const commit = (window: { startMs: number; endMs: number }) =>
      commitPoints(store.database, { seriesId, series, window });
    await commit(half);
    return { seriesId, name: `kraken ${baseId}/euro h1`, complete: () => commit({ startMs: half.endMs, endMs }) };
  }
  const fail = (seriesId: number, message = 'HTTP 500') =>
    store.database.pool.query(
      `insert into tidemark.pending_windows (series_id, range, reason, message, first_at, retry_at)
       values ($1, tstzrange(to_timestamp($2), to_timestamp($3)), 'failed', $4, now(), now() + interval '1 hour')`,
      [seriesId, half.endMs / 1000, (half.endMs + hourMs) / 1000, message],
    );
  const untrackAll = () => store.database.pool.query('update tidemark.series set untracked_at = now()');

  const connection = (page: Page, words: string) => page.locator('.connection').getByText(words).waitFor();
  const rowOf = (page: Page, seriesId: number) => page.locator(`[data-series="${seriesId}"]`);
  const headline = (page: Page, level: string, words: string) =>
    page.locator(`.headline[data-level="${level}"]`, { hasText: words }).waitFor();

  it('shows tracking, queueing, failures and commits live, by one stream', async () => {
    await untrackAll();
    const { page, asked } = await open(world.url);
    await headline(page, 'waiting', 'othing is tracked');
    const { seriesId, complete } = await halfCovered('live');
    const row = rowOf(page, seriesId);
    await row.getByText('50.00 %').waitFor();
    await page.getByText('Begin here').waitFor({ state: 'hidden' });
    await row.locator('rect.gap').waitFor();
    await row.getByRole('img', { name: '50.00 % covered, 1 gap, 2 d 2 h missing' }).waitFor();

    const middleMs = (half.endMs + endMs) / 2;
    const windows = [
      { startMs: half.endMs, endMs: middleMs, isActive: true },
      { startMs: middleMs, endMs, isActive: false },
    ];
    const depth = { waiting: 7, active: 2, delayed: 0, workers: 3 };
    world.queue = { ...quietQueue, depth, windows: new Map([[seriesId, windows]]) };
    await page.getByText('7 queued, 2 active, 3 workers').waitFor();
    for (const layer of ['queued', 'active']) await row.locator(`rect.${layer}`).waitFor();
    await row.getByText('1 queued, 1 active').waitFor();
    world.queue = null;
    await headline(page, 'bad', 'The queue does not answer');
    world.queue = quietQueue;

    await fail(seriesId);
    await row.locator('rect.failed').waitFor();

    await complete();
    await headline(page, 'ok', 'Up to date: 1 series');
    await row.getByText('100 %').waitFor();
    await row.locator('rect.gap').waitFor({ state: 'detached' });
    expect(asked.filter((path) => path === '/dashboard/events')).toHaveLength(1);
    await untrackAll();
    await row.waitFor({ state: 'detached' });
  });

  it('catches up after a lost connection', async () => {
    const { seriesId, complete } = await halfCovered('lost');
    let served = await openDashboardWorld(store);
    onTestFinished(() => served.close());
    const address = `${served.url}?series=${seriesId}`;
    const { page, asked } = await open(address);
    await connection(page, 'Live');
    await page.getByText('1 gap of 2 d 2 h').waitFor();
    const details = () => asked.filter((path) => path === `/dashboard/series/${seriesId}`).length;
    const before = details();
    await served.close();
    await connection(page, 'Not connected, trying again. Showing the state as of');
    expect(details()).toBe(before);
    await expectAccessible(page, 'the page of a series without a connection');
    await complete();
    served = await openDashboardWorld(store, {}, Number(new URL(address).port));
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
      page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent');
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

  it('goes back by one choice of the list', async () => {
    const { seriesId } = await halfCovered('chosen');
    const { page } = await open(world.url);
    const search = () => decodeURIComponent(new URL(page.url()).search);
    const filter = page.getByRole('button', { name: /^Late/ });
    await page.getByLabel('Find').pressSequentially('chosen');
    await rowOf(page, seriesId).waitFor();
    await filter.click();
    await page.getByLabel('Sort').selectOption('name');
    await page.getByLabel('Time').selectOption('day');
    expect(search()).toBe('?find=chosen&filter=behind&sort=name&axis=day');
    await page.goBack();
    await expect.poll(() => page.getByLabel('Time').inputValue()).toBe('own');
    await page.goBack();
    await expect.poll(() => page.getByLabel('Sort').inputValue()).toBe('missing');
    await filter.and(page.locator('[aria-pressed="true"]')).waitFor();
    await page.goBack();
    await filter.and(page.locator('[aria-pressed="false"]')).waitFor();
    // A name is one choice.
    expect(await page.getByLabel('Find').inputValue()).toBe('chosen');
    await page.goBack();
    await expect.poll(() => page.getByLabel('Find').inputValue()).toBe('');
    expect(search()).toBe('');
  });

  it('has all intervals beside each other from 1024 pixels on', async () => {
    for (const interval of datasets.candles.intervals) {
      const series = { ...market, exchange: 'binance-usdm', baseId: 'wide', interval };
      const { seriesId } = await trackSeries(store.database, series, startMs - 300 * dayMs, endMs);
      // Of which a week and a part of a day are missing.
      await store.database.pool.query(
        `update tidemark.series set covered = tstzmultirange(tracked * tstzrange(null, to_timestamp($2))) where id = $1`,
        [seriesId, endMs / 1000 - 15 * 86_400],
      );
    }
    const { page } = await open(world.url);
    await page.locator('.matrix').getByRole('columnheader', { name: 'w1' }).waitFor();
    for (const width of [1024, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const cut = await page.evaluate(`(() => {
        const frame = document.querySelector('.matrix').parentElement;
        return frame.scrollWidth - frame.clientWidth;
      })()`);
      expect(cut, `${width}`).toBe(0);
    }
  });

  it('opens the requests of a minute by a bar and by the keyboard, and Back closes them', async () => {
    const { seriesId, name } = await halfCovered('asked');
    // The tests before this one made requests in the same minute.
    await store.database.pool.query('truncate tidemark.fetches');
    // Of older minutes an open page reads nothing again.
    const minute = Math.floor(Date.now() / minuteMs) * minuteMs - minuteMs;
    await store.database.pool.query(
      `insert into tidemark.fetches (time, dataset, series_id, lane, attempt, verdict, status, fresh, duration_ms, error)
       values (to_timestamp($1), 'candles', $2, 'backfill', 1, 'filled', 200, 24, 71, null),
              (to_timestamp($1), 'candles', $2, 'refresh', 1, 'rate_limited', 429, 0, 12, E'slow down\nmore')`,
      [minute / 1000 + 30, seriesId],
    );
    const { page } = await open(`${world.url}?find=asked`);
    const bars = page.locator('svg.requests');
    await bars.locator('rect.failed:not([height="0"])').first().waitFor();
    const { width = 0, height = 0 } = (await bars.boundingBox()) ?? {};
    const count = await bars.locator('g').count();
    // Of sixty bars the last is the present minute; it may have begun anew meanwhile.
    await bars.click({ position: { x: ((count - 1.5) / count) * width, y: height / 2 } });
    const shown = page.getByRole('region', { name: 'Requests of a minute' });
    const time = formatTime(minute);
    const heading = shown.getByRole('heading', { level: 3 });
    const opened = await heading.innerText();
    if (!opened.startsWith(`Requests of the minute ${time}`))
      await page.goto(`${world.url}?find=asked&minute=${new Date(minute).toISOString()}`);
    await shown.getByText('2 requests. By answer: 1 filled, 1 rate limited. By source: 2 default.').waitFor();
    await shown.getByText('rate limited: slow down', { exact: true }).waitFor();
    await shown.getByRole('cell', { name: '429' }).waitFor();
    await shown.getByRole('link', { name }).first().waitFor();
    await expectAccessible(page, 'the requests of a minute');
    await page.reload();
    await shown.getByText('2 requests.').waitFor();
    expect(new URL(page.url()).searchParams.get('find')).toBe('asked');
    await shown.getByRole('button', { name: 'Close' }).click();
    await shown.waitFor({ state: 'detached' });
    await page.goBack();
    await shown.getByText('2 requests.').waitFor();
    await shown.getByRole('button', { name: 'Close' }).click();

    await page.getByText('Minute by minute', { exact: true }).press('Enter');
    await page.getByRole('button', { name: time, exact: true }).press('Enter');
    await shown.getByText('2 requests.').waitFor();
    for (const width of [390, 1024, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth'), `${width}`).toBe(width);
    }
    await untrackAll();
  });

  it('marks an outage, a ban and a pause over the requests of the last hour', async () => {
    await store.database.pool.query('truncate tidemark.fetches');
    const nowMs = Date.now();
    const fetched = (minutesAgo: number, verdict: string, error: string | null) =>
      store.database.pool.query(
        `insert into tidemark.fetches (time, dataset, lane, attempt, verdict, duration_ms, error)
         values (to_timestamp($1), 'candles', 'backfill', 1, $2, 1, $3)`,
        [(nowMs - minutesAgo * minuteMs) / 1000, verdict, error],
      );
    for (const minutes of [40, 39, 38]) await fetched(minutes, 'unreachable', 'ECONNREFUSED');
    await fetched(30, 'filled', null);
    await fetched(20, 'rate_limited', 'HTTP 429: <b>slow down</b>');
    await writePause(store.database, { sinceMs: nowMs - 5 * minuteMs, by: 'ann' });
    const { page } = await open(world.url, { viewport: { width: 390, height: 800 } });
    for (const name of ['outage', 'ban', 'pause']) await page.locator('svg.marks text', { hasText: name }).waitFor();
    const listed = page.locator('details', { hasText: /^Marked: 1 outage, \d bans?, 1 pause/ });
    await listed.locator('summary').press('Enter');
    await listed.getByText('the source: ECONNREFUSED (3 requests)', { exact: true }).waitFor();
    await listed.getByText('the source: HTTP 429: <b>slow down</b> (1 request, no good answer since)').waitFor();
    await listed.getByText('all requests paused by ann, not resumed yet').waitFor();
    await expectAccessible(page, 'marks over the requests');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);

    // Marked in the chart of a series too, as far as it reaches.
    await endPause(store.database, nowMs);
    await writePause(store.database, { sinceMs: nowMs - 30 * hourMs, by: 'bob' });
    const { seriesId } = await halfCovered('marked');
    const range = `from=${new Date(nowMs - 50 * hourMs).toISOString()}&to=${new Date(nowMs).toISOString()}`;
    await page.goto(`${world.url}?series=${seriesId}&${range}`);
    await page.getByText('Marked: 1 pause', { exact: true }).click();
    await page.getByText('all requests paused by bob, not resumed yet').waitFor();
    await expectAccessible(page, 'marks in a chart');
    await endPause(store.database, nowMs);
    await store.database.pool.query('truncate tidemark.fetches');
    await untrackAll();
  });

  it('returns to the place on a page that was left by a link', async () => {
    const { seriesId, name } = await halfCovered('placed');
    await fail(seriesId);
    const { page } = await open(`${world.url}?find=placed`, { viewport: { width: 1200, height: 250 } });
    await page.clock.install();
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
      // A range of a problem is opened at what can be done with it.
      await scrolled(view === 'Problems' ? '> 0' : '=== 0');
      const letGo = await holdBack(page, '**/dashboard/problems');
      await page.goBack();
      // However long the page takes to load.
      await page.getByRole('heading', { level: 1, name: view }).waitFor();
      await page.clock.fastForward(10_000);
      // After 25 s without an event the head of the page says so, on a line that moves the rest when it goes.
      await connection(page, 'Live');
      letGo();
      await link.waitFor();
      // A line on progress may have gone meanwhile: the page is then shorter, and its end is shown.
      await scrolled('> 0');
      await scrolled('=== Math.min(left, document.documentElement.scrollHeight - innerHeight)');
    }
  });
});

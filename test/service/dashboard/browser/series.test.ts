import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayMs, type EpochMs, hourMs } from '../../../../contract/intervals.ts';
import { trackSeries } from '../../../../store/series/series.ts';
import { describeNeeding } from '../../../parts/describe-needing.ts';
import { closeAt, commitPoints } from '../../../store/committing.ts';
import { openTestStore, type TestStore } from '../../../store/open-store.ts';
import { type DashboardWorld, market, openDashboardWorld } from '../dashboard-world.ts';
import { expectAccessible } from './accessible.ts';
import { holdBack, open, withBrowser } from './browser.ts';

describeNeeding('chromium', 'the page of a series in a browser', () => {
  withBrowser();
  let store: TestStore;
  let world: DashboardWorld;
  let seriesId: number;
  const endMs = Math.floor(Date.now() / dayMs) * dayMs;
  const startMs = endMs - 3 * 365 * dayMs;
  const hole = { startMs: endMs - 40 * hourMs, endMs: endMs - 20 * hourMs };

  beforeAll(async () => {
    store = await openTestStore();
    world = await openDashboardWorld(store);
    ({ seriesId } = await trackSeries(store.database, market, startMs, endMs));
    for (let at = startMs; at < hole.startMs; at += 365 * dayMs) {
      const window = { startMs: at, endMs: Math.min(at + 365 * dayMs, hole.startMs) };
      await commitPoints(store.database, { seriesId, series: market, window });
    }
    await commitPoints(store.database, { seriesId, series: market, window: { startMs: hole.endMs, endMs } });
  });
  afterAll(async () => {
    await world.close();
    await store.close();
  });

  async function opened() {
    const { page, asked } = await open(`${world.url}?series=${seriesId}`);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    return { page, asked };
  }

  /** Points the mouse at the part of the pane's width, without the scale at its right. */
  async function pointAt(page: Page, part: number): Promise<string> {
    const exact = page.locator('.exact');
    await page.mouse.move(0, 0);
    await expect.poll(() => exact.textContent()).toBe('');
    const pane = page.locator('.chart td:nth-child(2)').first();
    const box = await pane.boundingBox();
    if (box === null) throw new Error('the chart has no pane');
    await page.mouse.move(box.x + box.width * part, box.y + box.height / 2);
    await expect.poll(() => exact.textContent()).not.toBe('');
    return (await exact.textContent()) ?? '';
  }

  const timeIn = (text: string): EpochMs =>
    Date.parse(
      `${text.slice(0, text.indexOf(': ')).replace(' ', 'T').replace('Z', '')}Z`.replace(/^(.{10})Z$/, '$1'),
    );

  it('shows exact stored values on hover', async () => {
    const { page } = await opened();
    const text = await pointAt(page, 0.2);
    const value = closeAt(timeIn(text));
    expect(String(Number(value))).not.toBe(value);
    expect(text).toContain(`open ${value} · high ${value} · low ${value} · close ${value} · volume ${value}`);
  });

  /** Keeps each text that the chart draws in `window.drawn`. */
  const recordDrawnTexts = `
    window.drawn = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      window.drawn.push(text);
      return fillText.call(this, text, ...place);
    };`;

  it('writes clock times on the axis where the screen shows hours', async () => {
    const { page } = await open(`${world.url}?series=${seriesId}`);
    await page.addInitScript(recordDrawnTexts);
    await page.goto(`${world.url}?series=${seriesId}&from=${endMs - 12 * hourMs}&to=${endMs}`);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    await expect.poll(async () => String(await page.evaluate('window.drawn.join()'))).toMatch(/\b\d\d:00\b/);
  });

  it('shades a gap and names its state', async () => {
    const { page } = await opened();
    expect(await pointAt(page, 1 - 30 / 150)).toMatch(/: no value, gap$/);
    await page.mouse.move(0, 0);
    /** Colours of a line across the pane's upper edge, where nothing else is drawn but the grid. */
    const colours = (await page.evaluate(`(() => {
      const canvas = document.querySelector('.chart td:nth-child(2) canvas');
      const context = canvas.getContext('2d');
      const count = (from, to) => {
        const width = Math.floor(canvas.width * (to - from));
        const { data } = context.getImageData(Math.floor(canvas.width * from), 3, width, 1);
        const seen = new Map();
        for (let at = 0; at < data.length; at += 4) {
          const colour = data.slice(at, at + 3).join(' ');
          seen.set(colour, (seen.get(colour) ?? 0) + 1);
        }
        return { kinds: seen.size, maxShare: Math.max(...seen.values()) / width };
      };
      return { covered: count(0.3, 0.4), gap: count(1 - 38 / 150, 1 - 22 / 150) };
    })()`)) as Record<'covered' | 'gap', { kinds: number; maxShare: number }>;
    // Of what is covered nearly all is the background; of a gap much is hatching, in blended colours.
    expect(colours.covered.maxShare).toBeGreaterThan(0.9);
    expect(colours.gap.maxShare).toBeLessThan(0.9);
    expect(colours.gap.kinds).toBeGreaterThan(3);
  });

  const pointsAsked = (asked: readonly string[]) =>
    asked.flatMap((path) => {
      const [, interval, from, to] = /points\?interval=(\w+)&from=(\d+)&to=(\d+)/.exec(path) ?? [];
      return interval === undefined ? [] : [{ interval, from: Number(from), to: Number(to) }];
    });

  it('loads older points on demand in bounded pieces', async () => {
    const { page, asked } = await opened();
    const first = Math.min(...pointsAsked(asked).map(({ from }) => from));
    expect(first).toBeGreaterThan(endMs - 400 * hourMs);
    await page.getByRole('group', { name: /^Chart from/ }).focus();
    for (let presses = 0; presses < 30; presses += 1) await page.keyboard.press('ArrowLeft');
    await expect
      .poll(() => Math.min(...pointsAsked(asked).map(({ from }) => from)))
      .toBeLessThan(first - 300 * hourMs);
    for (const { interval, from, to } of pointsAsked(asked)) {
      expect(interval).toBe('h1');
      expect((to - from) / hourMs).toBeLessThanOrEqual(2000);
    }
    expect(Math.min(...pointsAsked(asked).map(({ from }) => from))).toBeGreaterThan(startMs + 365 * dayMs);
    await page
      .getByRole('group', { name: new RegExp(`${149}|${150}|${151} values of h1, 0 gaps`) })
      .waitFor();
  });

  it('pans with the mouse', async () => {
    const { page, asked } = await opened();
    const group = page.getByRole('group', { name: /^Chart from/ });
    const before = await group.getAttribute('aria-label');
    const box = await page.locator('.chart').boundingBox();
    if (box === null) throw new Error('there is no chart');
    const asks = pointsAsked(asked).length;
    for (let times = 0; times < 4; times += 1) {
      await page.mouse.move(box.x + 100, box.y + 50);
      await page.mouse.down();
      await page.mouse.move(box.x + 900, box.y + 50, { steps: 8 });
      await page.mouse.up();
    }
    await expect.poll(() => group.getAttribute('aria-label')).not.toBe(before);
    await expect.poll(() => pointsAsked(asked).length).toBeGreaterThan(asks);
  });

  it('zooms with the wheel into coarser candles and back', async () => {
    const { page, asked } = await opened();
    const box = await page.locator('.chart').boundingBox();
    if (box === null) throw new Error('there is no chart');
    await page.mouse.move(box.x + 333, box.y + 50);
    const told = page.locator('.told');
    const zoomed = (by: number, until: RegExp) =>
      expect
        .poll(
          async () => {
            await page.mouse.wheel(0, by);
            return told.textContent();
          },
          { interval: 100 },
        )
        .toMatch(until);
    await zoomed(170, /^Candles of/);
    await zoomed(-170, /^Every candle of h1/);
    expect(asked.filter((path) => /points\?.*\./.test(path))).toEqual([]);
  });

  it('limits zooming out to the whole series, by keys and wheel', async () => {
    const { page } = await opened();
    const group = page.getByRole('group', { name: /^Chart from/ });
    const label = async () => (await group.getAttribute('aria-label')) ?? '';
    const day = (timeMs: EpochMs) => new Date(timeMs).toISOString().slice(0, 10);
    const everything = new RegExp(`^Chart from ${day(startMs)} to ${day(endMs)}, \\d+ values of w1`);
    await group.focus();
    for (let presses = 0; presses < 25; presses += 1) await page.keyboard.press('-');
    await expect.poll(label).toMatch(everything);
    for (const key of ['Home', 'ArrowLeft', 'ArrowRight', 'End', '-']) await page.keyboard.press(key);
    expect(await label()).toMatch(everything);
    for (let presses = 0; presses < 8; presses += 1) await page.keyboard.press('+');
    await page.getByText('Every candle of h1, as stored.').waitFor();
    const box = await page.locator('.chart').boundingBox();
    if (box === null) throw new Error('there is no chart');
    await page.mouse.move(box.x + 333, box.y + 50);
    const turn = async () => {
      await page.mouse.wheel(0, 300);
      return label();
    };
    await expect.poll(turn, { interval: 50 }).toMatch(everything);
    const edges: string[] = [];
    for (let turns = 0; turns < 10; turns += 1) edges.push(await turn());
    for (const edge of edges) {
      const [, from = '', to = ''] = /from (.*) to (.*), \d+ values/.exec(edge) ?? [];
      expect(timeIn(`${to}: `) - timeIn(`${from}: `)).toBeLessThan((endMs - startMs) * 1.05);
    }
  });

  it('navigates to the first and last value and steps by keys', async () => {
    const { page } = await opened();
    await page.getByRole('group', { name: /^Chart from/ }).focus();
    await page.keyboard.press('Home');
    await page
      .getByRole('group', {
        name: new RegExp(`^Chart from ${new Date(startMs).toISOString().slice(0, 10)} to`),
      })
      .waitFor();
    await page.getByText('Every candle of h1, as stored.').waitFor();
    const exact = page.locator('.exact');
    await expect
      .poll(async () => {
        await page.keyboard.press('Shift+ArrowRight');
        return exact.textContent();
      })
      .toContain('close');
    await page.keyboard.press('Shift+ArrowLeft');
    const one = timeIn((await exact.textContent()) ?? '');
    await page.keyboard.press('Shift+ArrowRight');
    const other = timeIn((await exact.textContent()) ?? '');
    expect(other - one).toBe(hourMs);
    await page.keyboard.press('End');
    await expect
      .poll(() => page.getByRole('group', { name: /^Chart from/ }).getAttribute('aria-label'))
      .toMatch(/ 1 gaps?$/);
    await page.keyboard.press('-');
    await page.keyboard.press('-');
    await page.getByText('Candles of h2, aggregated from h1.').waitFor();
    await page.keyboard.press('+');
    await page.keyboard.press('+');
    await page.getByText('Every candle of h1, as stored.').waitFor();
  });

  it('shows all years in coarser candles and the screen as a table', async () => {
    const { page, asked } = await opened();
    await page.getByRole('button', { name: 'All' }).click();
    await page.getByText('Candles of w1, aggregated from h1.').waitFor();
    const [last] = pointsAsked(asked).slice(-1);
    expect(last).toMatchObject({ interval: 'w1' });
    await page.getByText('The values on screen as a table').click();
    const rows = page.locator('details table tbody tr');
    await expect.poll(() => rows.count()).toBeGreaterThan(150);
    // The first week that begins within what is stored, or before: its first hour's opening price.
    const monday = startMs + ((8 - new Date(startMs).getUTCDay()) % 7) * dayMs;
    const row = rows.filter({ hasText: new Date(monday).toISOString().slice(0, 10) }).first();
    await expect.poll(() => row.textContent()).toContain(closeAt(monday));
  });

  it('has a pane of volumes, the newest value, and options that the address keeps', async () => {
    const { page } = await opened();
    // A row for each pane, with a row between them and one of times.
    expect(await page.locator('.chart table tr').count()).toBeGreaterThanOrEqual(4);
    await page.locator('.newest', { hasText: `close ${closeAt(endMs - hourMs)}` }).waitFor();
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const pressed = async () =>
      (await page.locator('.controls button[aria-pressed="true"]').allTextContents()).join();
    expect(await pressed()).toBe('');
    await button('1 week').click();
    await expect.poll(pressed).toBe('1 week');
    await button('Log scale').click();
    await expect.poll(pressed).toBe('1 week,Log scale');
    expect(new URL(page.url()).search).toBe(`?series=${seriesId}&scale=log&span=1+week`);
    await page.reload();
    await expect.poll(pressed).toBe('1 week,Log scale');
    await page.getByRole('group', { name: /^Chart from .* 14[789] values of h1/ }).waitFor();
    await page.getByRole('group', { name: /^Chart from/ }).focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(pressed).toBe('Log scale');
    await button('Log scale').click();
    await expect.poll(pressed).toBe('');
    // What no button made is in the address as a range.
    await expect
      .poll(() => decodeURIComponent(new URL(page.url()).search))
      .toMatch(/^\?series=\d+&from=[\d:TZ-]+&to=[\d:TZ-]+$/);
    const label = () => page.getByRole('group', { name: /^Chart from/ }).getAttribute('aria-label');
    const shown = await label();
    await page.reload();
    await page.getByRole('group', { name: shown ?? '' }).waitFor();
    await button('Full screen').click();
    await expect.poll(() => page.evaluate('document.fullscreenElement !== null')).toBe(true);
    await expectAccessible(page, 'the chart in full screen');
  });

  it('shows new commits', async () => {
    const { page } = await opened();
    const later = { startMs: hole.startMs, endMs: hole.startMs + 10 * hourMs };
    await page.getByText('1 gap of 20 h').waitFor();
    await commitPoints(store.database, { seriesId, series: market, window: later });
    await page.getByText('1 gap of 10 h').waitFor();
    let text = '';
    await expect
      .poll(async () => {
        text = await pointAt(page, 1 - 35 / 150);
        return text;
      })
      .toContain('close');
    expect(later.endMs - timeIn(text)).toBeGreaterThan(0);
    expect(text).toContain(`close ${closeAt(timeIn(text))}`);
  });

  it('follows the end of the series unless the user moved away', async () => {
    const series = { ...market, baseId: 'followed' };
    const { seriesId: followed } = await trackSeries(store.database, series, endMs - 300 * hourMs, null);
    const commitTo = (fromMs: EpochMs, toMs: EpochMs) =>
      commitPoints(store.database, {
        ...{ seriesId: followed, series, window: { startMs: fromMs, endMs: toMs } },
      });
    await commitTo(endMs - 300 * hourMs, endMs - 100 * hourMs);
    let nowMs = endMs - 99.5 * hourMs;
    const moving = await openDashboardWorld(store, {}, 0, () => nowMs);
    try {
      const { page, asked } = await open(`${moving.url}?series=${followed}`);
      const group = page.getByRole('group', { name: /^Chart from/ });
      /** Before the present day, in hours. */
      const chartEnd = async () => {
        const [, to = ''] = / to (.*), \d+ values/.exec((await group.getAttribute('aria-label')) ?? '') ?? [];
        return (endMs - timeIn(`${to}: `)) / hourMs;
      };
      const newest = async () => {
        const text = await page.locator('details tbody tr').first().locator('td').first().textContent();
        return (endMs - timeIn(`${text}: `)) / hourMs;
      };
      await expect.poll(chartEnd).toBe(99);
      await page.getByText('The values on screen as a table').click();
      await expect.poll(newest).toBe(101);
      nowMs += 5 * hourMs;
      await commitTo(endMs - 100 * hourMs, endMs - 95 * hourMs);
      await expect.poll(chartEnd).toBe(94);
      await expect.poll(newest).toBe(96);
      // A page that is opened after a while without any may begin with what was known before it.
      nowMs += 4 * hourMs;
      await expect.poll(chartEnd).toBe(90);
      await group.focus();
      await page.keyboard.press('ArrowLeft');
      await expect.poll(chartEnd).toBe(120);
      const before = pointsAsked(asked).length;
      nowMs += 3 * hourMs;
      await commitTo(endMs - 95 * hourMs, endMs - 88 * hourMs);
      await page.getByText('212 points').waitFor();
      await expect.poll(() => pointsAsked(asked).length).toBeGreaterThan(before);
      expect(await chartEnd()).toBe(120);
      await page.keyboard.press('End');
      await expect.poll(chartEnd).toBe(87);
      nowMs += hourMs;
      await expect.poll(chartEnd).toBe(86);
    } finally {
      await moving.close();
    }
  });

  it('requests everything once when it opens', async () => {
    const { page, asked } = await opened();
    await page.locator('.connection', { hasText: 'Live' }).waitFor();
    await page.getByText('1 gap of').first().waitFor();
    const paths = asked.filter((path) => /^\/dashboard\/(series|bands)/.test(path));
    expect(paths).toEqual([...new Set(paths)]);
    expect(paths).toContain(`/dashboard/series/${seriesId}`);
  });

  it('reloads when a lost connection is back, not when it is lost', async () => {
    const lost = await openDashboardWorld(store);
    const { page, asked } = await open(`${lost.url}?series=${seriesId}`);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    const details = () => asked.filter((path) => path === `/dashboard/series/${seriesId}`).length;
    await page.locator('.connection', { hasText: 'Live' }).waitFor();
    const before = details();
    await lost.close();
    await page.locator('.connection', { hasText: 'Not connected, trying again.' }).waitFor();
    expect(details()).toBe(before);
    const back = await openDashboardWorld(store, {}, Number(new URL(lost.url).port));
    try {
      await expect.poll(details).toBe(before + 1);
    } finally {
      await back.close();
    }
  });

  it.each([
    ['very large', `12${'0'.repeat(198)}`],
    ['very small', `0.${'0'.repeat(17)}1234`],
  ])('draws %s prices', async (name, price) => {
    const series = { ...market, baseId: name };
    const window = { startMs: endMs - 100 * hourMs, endMs };
    const { seriesId: odd } = await trackSeries(store.database, series, window.startMs, endMs);
    const times = Array.from({ length: 100 }, (_, place) => window.startMs + place * hourMs);
    const changed = new Map(times.map((timeMs) => [timeMs, price]));
    await commitPoints(store.database, { seriesId: odd, series, window, changed });
    const { page } = await open(`${world.url}?series=${odd}`);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    const drawn = () =>
      page.evaluate(`(() => {
        const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--up').trim();
        probe.fillRect(0, 0, 1, 1);
        const wanted = probe.getImageData(0, 0, 1, 1).data.join();
        const canvas = document.querySelector('.chart td:nth-child(2) canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let found = 0;
        for (let at = 0; at < data.length; at += 4) if (data.slice(at, at + 4).join() === wanted) found += 1;
        return found;
      })()`);
    await expect.poll(drawn).toBeGreaterThan(100);
    await page.getByRole('group', { name: /^Chart from/ }).focus();
    await page.keyboard.press('Shift+ArrowLeft');
    await page.locator('.exact', { hasText: `close ${price} ` }).waitFor();
  });

  it('shows that it is loading while a part of the screen is blank', async () => {
    const { page } = await opened();
    const allow = await holdBack(page, '**/points?*');
    const told = page.getByRole('status').filter({ hasText: 'Loading.' });
    await page.getByRole('button', { name: 'All' }).click();
    await told.waitFor();
    allow();
    await page.getByText('Candles of w1, aggregated from h1.').waitFor();
    expect(await told.count()).toBe(0);
  });

  /** Two series of 120 days, whose values differ from hour to hour. */
  async function comparable(name: string): Promise<{ readonly own: number; readonly other: number }> {
    const window = { startMs: endMs - 120 * dayMs, endMs };
    const [own = 0, other = 0] = await Promise.all(
      [97, 89].map(async (period) => {
        const series = { ...market, baseId: `${name}-${period}` };
        const times = Array.from({ length: 120 * 24 }, (_, place) => window.startMs + place * hourMs);
        const changed = new Map(
          times.map((timeMs, place) => [timeMs, String(100 + ((place * 31) % period))]),
        );
        const { seriesId: id } = await trackSeries(store.database, series, window.startMs, endMs);
        await commitPoints(store.database, { seriesId: id, series, window, changed });
        return id;
      }),
    );
    return { own, other };
  }

  it('shows the same range while the compared series is loaded at another interval, and after', async () => {
    const { own, other } = await comparable('switched');
    const { page } = await open(`${world.url}?series=${own}&compare=${other}`);
    await page.getByText(/^From 100 at .* and kraken switched-89/).waitFor();
    const allow = await holdBack(page, `**/series/${other}/points?interval=d1*`);
    await page.getByLabel('Interval').selectOption('d1, derived');
    await page.getByRole('group', { name: /^Chart from .*, 10 values of d1/ }).waitFor();
    const middleMs = async () => timeIn(await pointAt(page, 0.5));
    expect(Math.abs((await middleMs()) - (endMs - 5 * dayMs))).toBeLessThanOrEqual(dayMs);
    allow();
    await page.getByText(/^From 100 at .* and kraken switched-89/).waitFor();
    expect(Math.abs((await middleMs()) - (endMs - 5 * dayMs))).toBeLessThanOrEqual(dayMs);
  });

  it('writes the values of a comparison as its axis does', async () => {
    const { own, other } = await comparable('based');
    const { page } = await open(world.url);
    await page.addInitScript(recordDrawnTexts);
    // The first bar is half visible.
    const [from, to] = [endMs - 100.5 * hourMs, endMs].map((timeMs) => new Date(timeMs).toISOString());
    await page.goto(`${world.url}?series=${own}&compare=${other}&from=${from}&to=${to}`);
    /** What the text says, and whether the axis has it. */
    const written = async () => {
      const text = (await page.locator('.compared').textContent()) ?? '';
      const drawn = (await page.evaluate('window.drawn')) as string[];
      return (text.match(/\d+\.\d\d\b/g) ?? []).map((value) => drawn.includes(value));
    };
    await expect.poll(written).toEqual([true, true]);
  });

  /** Moves the screen to the past, piece by piece. */
  async function panBack(page: Page, presses: number): Promise<void> {
    const group = page.getByRole('group', { name: /^Chart from/ });
    await group.focus();
    for (let pressed = 0; pressed < presses; pressed += 1) await page.keyboard.press('ArrowLeft');
    const from = new Date(endMs - (150 + presses * 30) * hourMs).toISOString().slice(0, 16);
    await page
      .getByRole('group', { name: new RegExp(`^Chart from ${from.replace('T', ' ')}Z .* 150 values`) })
      .waitFor();
  }

  it('keeps both lines of a comparison when more is loaded than one response holds', async () => {
    const { own, other } = await comparable('panned');
    const { page } = await open(`${world.url}?series=${own}&compare=${other}`);
    const both = page.getByText(/^From 100 at .* and kraken panned-89\/\w+ h1 \d+\.\d\d$/);
    await both.waitFor();
    await panBack(page, 74);
    await page.locator('.told', { hasText: 'Every candle of h1, as stored.' }).waitFor();
    await both.waitFor();
  });

  it('says that the other series cannot be loaded as long as it cannot', async () => {
    const { own, other } = await comparable('refused');
    const { page } = await open(`${world.url}docs`);
    await page.route(`**/series/${other}/points?*`, (route) =>
      route.fulfill({ status: 400, json: { error: 'none today' } }),
    );
    await page.goto(`${world.url}?series=${own}&compare=${other}`);
    const trouble = page.locator('.told', { hasText: 'Cannot load the other series: none today.' });
    await trouble.waitFor();
    await panBack(page, 2);
    await trouble.waitFor();
    await page.getByText('kraken refused-89/euro h1 is not loaded.').waitFor();
    await page.getByLabel('Compare with').fill('');
    await page.getByText('Every candle of h1, as stored.').waitFor();
  });

  it('shows a loading error in the error colour', async () => {
    const { page } = await opened();
    await page.route('**/points?*', (route) => route.fulfill({ status: 500, json: { error: 'none today' } }));
    const colour = () => page.evaluate("getComputedStyle(document.querySelector('.told')).color");
    const calm = await colour();
    await page.getByRole('button', { name: 'All' }).click();
    await page.getByText('Cannot load points: none today.').waitFor();
    expect(await colour()).not.toBe(calm);
  });

  it.each([
    ['points', /\/points\?/],
    ['the calendar', /\/calendar\?/],
    ['the details', /\/dashboard\/series\/\d+$/],
    ['the band', /\/bands\?/],
  ])('requests %s again after a failed response', async (_, path) => {
    const { page } = await open(`${world.url}docs`);
    let failures = 0;
    await page.route(path, async (route) => {
      failures += 1;
      if (failures > 1) await route.continue();
      else await route.fulfill({ status: 500, json: { error: 'none today' } });
    });
    await page.goto(`${world.url}?series=${seriesId}`);
    await page.getByText('none today').waitFor();
    await expect.poll(() => page.getByText('none today').count()).toBe(0);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    await page.locator('.calendar').waitFor();
  });

  it('shows the correct times for a series without points', async () => {
    const { seriesId: empty } = await trackSeries(
      store.database,
      { ...market, baseId: 'nothing-yet' },
      endMs - 2000 * hourMs,
      endMs,
    );
    const { page } = await open(`${world.url}?series=${empty}`);
    await page.getByText('No stored data in this range.').waitFor();
    for (const key of ['', 'Home']) {
      const group = page.getByRole('group', { name: /^Chart from/ });
      if (key !== '') {
        await group.focus();
        await page.keyboard.press(key);
        const day = new Date(endMs - 2000 * hourMs).toISOString().slice(0, 10);
        await page.getByRole('group', { name: new RegExp(`^Chart from ${day}`) }).waitFor();
      }
      const label = (await group.getAttribute('aria-label')) ?? '';
      const [, from = '', to = ''] = /from (.*) to (.*), 0 values/.exec(label) ?? [];
      const [fromMs, toMs] = [timeIn(`${from}: `), timeIn(`${to}: `)];
      expect(toMs - fromMs).toBe(150 * hourMs);
      const pointedMs = timeIn(await pointAt(page, 0.5));
      expect(Math.abs(pointedMs - (fromMs + toMs) / 2)).toBeLessThanOrEqual(2 * hourMs);
    }
  });

  it('reports an unknown series', async () => {
    const { page } = await open(`${world.url}?series=4711`);
    await page.getByRole('alert').getByText('There is no series with the id 4711.').waitFor();
  });
});

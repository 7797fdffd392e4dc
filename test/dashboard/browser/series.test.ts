/** The chart of a series in a browser: what it draws, where it moves, and what it keeps. */

import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { dayMs, type EpochMs, hourMs } from '../../../model/intervals.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { fillOf, rulesOf } from '../../parts/windows.ts';
import { closeAt, commitPoints, commitWindow, pointAnswerOf } from '../../store/committing.ts';
import { useStore } from '../../store/open-store.ts';
import { type DashboardWorld, market, openDashboardWorld } from '../dashboard-world.ts';
import { expectAccessible } from './accessible.ts';
import { holdBack, holds, open, withBrowser } from './browser.ts';

describeNeeding('chromium', 'the page of a series in a browser', () => {
  withBrowser();
  const store = useStore();
  let world: DashboardWorld;
  let seriesId: number;
  const nowMs = Math.floor(Date.now() / dayMs) * dayMs;
  const endMs = nowMs;
  const startMs = endMs - 3 * 365 * dayMs;
  const hole = { startMs: endMs - 40 * hourMs, endMs: endMs - 20 * hourMs };

  beforeAll(async () => {
    world = await openDashboardWorld(store, {}, 0, () => nowMs);
    seriesId = await filled('bitcoin', [startMs, hole.startMs], [hole.endMs, endMs]);
  });
  afterAll(() => world.close());

  async function filled(baseId: string, ...windows: (readonly [EpochMs, EpochMs])[]): Promise<number> {
    const series = { ...market, baseId };
    const [begin = endMs] = windows.flat();
    const { seriesId: id } = await trackSeries(store.database, series, begin, endMs);
    for (const [from, to] of windows)
      for (let at = from; at < to; at += 365 * dayMs)
        await commitPoints(store.database, {
          ...{ seriesId: id, series, window: { startMs: at, endMs: Math.min(at + 365 * dayMs, to) } },
        });
    return id;
  }

  const at = (id: number, more = '') => `${world.url}?series=${id}${more}`;
  const chartOf = (page: Page) => page.getByRole('group', { name: /^Chart from/ });
  const chart = (page: Page, name: RegExp) => page.getByRole('group', { name }).waitFor();
  const asStored = (page: Page) => page.getByText('Every candle of h1, as stored.').waitFor();
  const search = (page: Page) => decodeURIComponent(new URL(page.url()).search);
  const isoAt = (timeMs: EpochMs) => new Date(timeMs).toISOString();
  const day = (timeMs: EpochMs) => new Date(timeMs).toISOString().slice(0, 10);
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const zone = (page: Page) => page.getByRole('combobox', { name: 'Zone' });
  const isPressed = (page: Page, name: string, state: boolean) =>
    page.locator(`button[aria-pressed="${state}"]`, { hasText: name }).first().waitFor();
  const pointsAsked = (asked: readonly string[]) =>
    asked.flatMap((path) => {
      const [, interval, from, to] = /points\?interval=(\w+)&from=(\d+)&to=(\d+)/.exec(path) ?? [];
      return interval === undefined ? [] : [{ interval, from: Number(from), to: Number(to) }];
    });

  const timeIn = (text: string): EpochMs =>
    Date.parse(`${text.slice(0, text.indexOf(': ')).replace(' ', 'T').replace('Z', '')}Z`.replace(/^(.{10})Z$/, '$1'));
  const rangeOf = async (page: Page) => {
    const [, from = '', to = ''] =
      /from (.*) to (.*), \d+ values/.exec((await chartOf(page).getAttribute('aria-label')) ?? '') ?? [];
    return { fromMs: timeIn(`${from}: `), toMs: timeIn(`${to}: `) };
  };

  /** Points the mouse at the part of the pane's width, without the scale at its right. @returns the exact values. */
  async function pointAt(page: Page, part: number): Promise<string> {
    const exact = page.locator('.exact');
    await page.mouse.move(0, 0);
    await holds(page, "document.querySelector('.exact').textContent === ''");
    const box = await page.locator('.chart td:nth-child(2)').first().boundingBox();
    if (box === null) throw new Error('the chart has no pane');
    await page.mouse.move(box.x + box.width * part, box.y + box.height / 2);
    await exact.filter({ hasText: /./ }).waitFor();
    return (await exact.textContent()) ?? '';
  }
  /** Keeps each text that the chart draws in `window.drawn`. */
  const recordDrawnTexts = `
    window.drawn = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      window.drawn.push(text);
      return fillText.call(this, text, ...place);
    };`;

  it('chooses a range by a click on a hole, a drag on band and chart, and the screen, says why it is missing, and Back undoes it', async () => {
    const { page, asked } = await open(at(seriesId));
    await asStored(page);
    const chosen = page.getByRole('region', { name: 'Chosen range' });
    const title = (text: string | RegExp) =>
      chosen.getByRole('heading', { level: 2 }).filter({ hasText: text }).waitFor();
    const hour = (timeMs: EpochMs) =>
      new Date(timeMs).toISOString().slice(0, 16).replace('T', ' ').replace(' 00:00', '');
    const ofHole = `${hour(hole.startMs)}Z to ${hour(hole.endMs)}Z`.replaceAll(/(\d{4}-\d\d-\d\d)Z/g, '$1');

    // The link of the gap.
    await page
      .getByRole('table', { name: /gap, cut/ })
      .getByRole('link')
      .first()
      .click();
    await title(ofHole);
    await chosen.getByText('0 % covered').waitFor();
    await chosen.getByRole('row', { name: /awaits a request/ }).waitFor();
    await chosen.getByText('select * from candles where exchange =').waitFor();
    await expectAccessible(page, 'a chosen range');
    expect(asked.filter((path) => /\/range\?/.test(path))).toEqual([
      `/dashboard/series/${seriesId}/range?from=${hole.startMs}&to=${hole.endMs}`,
    ]);
    await button(page, 'Close').click();
    await chosen.waitFor({ state: 'detached' });
    await page.goBack();
    await title(ofHole);
    await page.goBack();
    await chosen.waitFor({ state: 'detached' });

    // A drag over the last fifth of the band.
    await page.locator('svg.band').first().scrollIntoViewIfNeeded();
    const band = await page.locator('svg.band').first().boundingBox();
    if (band === null) throw new Error('no band');
    await page.mouse.move(band.x + band.width * 0.8, band.y + 3);
    await page.mouse.down();
    await page.mouse.move(band.x + band.width - 1, band.y + 3, { steps: 5 });
    await page.mouse.up();
    await title(`to ${day(endMs)}`);
    await chosen.getByText('1 gap of 20 h').waitFor();

    // And over two months of the calendar.
    const months = page.locator('.calendar td[data-state] a');
    const last = await months.count();
    await months.nth(1).dragTo(months.nth(2));
    await title(/^\d{4}-\d\d-01 to \d{4}-\d\d-01$/);
    expect(last).toBeGreaterThan(30);

    // A drag with Shift measures, and chooses whole periods.
    await page.goto(at(seriesId));
    await asStored(page);
    const pane = await page.locator('.chart td:nth-child(2)').first().boundingBox();
    if (pane === null) throw new Error('the chart has no pane');
    const y = pane.y + pane.height / 2;
    const before = await rangeOf(page);
    await page.keyboard.down('Shift');
    await page.mouse.move(pane.x + pane.width * 0.1, y);
    await page.mouse.down();
    await page.mouse.move(pane.x + pane.width * 0.3, y, { steps: 5 });
    await page.locator('.measured', { hasText: /[+−][\d.]+ %, lowest [\d.]+, highest [\d.]+/ }).waitFor();
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await title(/\dZ? to \d/);
    expect(await rangeOf(page)).toEqual(before);
    const { since = '', until = '' } = Object.fromEntries(new URL(page.url()).searchParams);
    const hours = (Date.parse(until) - Date.parse(since)) / hourMs;
    expect(hours).toBeGreaterThan(150 * 0.15);
    expect(hours).toBeLessThan(150 * 0.25);
    await chosen.getByText('100 % covered').waitFor();
    await chosen
      .getByRole('row', { name: /filled/ })
      .first()
      .waitFor();

    await button(page, 'Choose this range').click();
    await title(`to ${day(endMs)}`);
    await page.goBack();
    await title(/\dZ? to \d/);
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({ since, until });
  });

  it.each([390, 1024, 1440])(
    'has its legend with the change where it covers nothing, dark, %i px wide',
    async (width) => {
      const { page } = await open(at(seriesId), { viewport: { width, height: 900 }, colorScheme: 'dark' });
      await page.getByText(/candle of h1, as stored|Candles of h\d, aggregated/).waitFor();
      // The test's prices rise and fall by whole units.
      await page.locator('.newest .change', { hasText: /^[+−]\d[\d.]* \([+−][\d.]+ %\)$/ }).waitFor();
      expect(await pointAt(page, 0.2)).toMatch(/ · [+−]\d[\d.]* \([+−][\d.]+ %\)$/);
      const colours = (await page.evaluate(`(() => {
      const colour = (element) => getComputedStyle(element).color;
      return [colour(document.querySelector('.exact .change')), colour(document.querySelector('.exact'))];
    })()`)) as string[];
      expect(colours[0]).not.toBe(colours[1]);
      const canvas = await page.locator('.chart').boundingBox();
      const pane = await page.locator('.chart td:nth-child(2)').first().boundingBox();
      const values = await page.locator('.values').boundingBox();
      const keys = await page.locator('.told').boundingBox();
      if (canvas === null || pane === null || values === null || keys === null) throw new Error('there is no legend');
      if (width === 390) expect(values.y).toBeGreaterThanOrEqual(canvas.y + canvas.height);
      else {
        expect(values.x + values.width).toBeLessThanOrEqual(pane.x + pane.width);
        expect(values.y + values.height).toBeLessThan(pane.y + pane.height / 2);
      }
      expect(values.y + values.height).toBeLessThanOrEqual(keys.y);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      await expectAccessible(page, `a chart, dark, ${width} px wide`);
      // After a gap there is no change.
      if (width > 390) expect(await pointAt(page, 1 - 20.5 / 150)).toMatch(/volume [\d.]+$/);
    },
  );

  it('says which answers confirmed that a period has no value', async () => {
    const series = { ...market, baseId: 'silent' };
    const { seriesId: id } = await trackSeries(store.database, series, endMs - 100 * hourMs, endMs);
    const window = { startMs: endMs - 40 * hourMs, endMs: endMs - 20 * hourMs };
    for (const part of [
      { startMs: endMs - 100 * hourMs, endMs: window.startMs },
      { startMs: window.endMs, endMs },
    ])
      await commitPoints(store.database, { seriesId: id, series, window: part });
    const answersMs = [endMs - 10 * hourMs, endMs - 8 * hourMs];
    for (const answeredMs of answersMs)
      await commitWindow(store.database, {
        window: fillOf({ seriesId: id, series, ...window }),
        answer: pointAnswerOf(series.dataset, [], answeredMs),
        ...{ attempt: 1, nowMs: answeredMs, rules: rulesOf(hourMs) },
      });
    const { page, asked } = await open(at(id, `&from=${isoAt(endMs - 100 * hourMs)}&to=${isoAt(endMs)}`));
    await asStored(page);
    expect(await pointAt(page, 1 - 30 / 100)).toMatch(/: no value, confirmed empty/);
    const [first = 0, second = 0] = answersMs;
    const minute = (timeMs: EpochMs) => `${isoAt(timeMs).slice(0, 16).replace('T', ' ')}Z`;
    const proof = `confirmed empty by the answers of ${minute(first)} (empty) and ${minute(second)} (confirmed empty)`;
    await page.locator('.exact', { hasText: proof }).waitFor();
    expect(asked.filter((path) => /\/range\?/.test(path))).toHaveLength(1);
    await page.goto(at(id, `&since=${isoAt(window.startMs)}&until=${isoAt(window.endMs)}`));
    await page.getByRole('row', { name: proof }).waitFor();
    await expectAccessible(page, 'a confirmed silence');
  });

  it('sends the points of a range as CSV, one download at a time', async () => {
    const range = `from=${startMs}&to=${startMs + 24 * hourMs}`;
    const answer = await fetch(`${world.url}dashboard/series/${seriesId}/points.csv?${range}`);
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="kraken-bitcoin-euro-h1-candles-${day(startMs)}-${day(startMs + 24 * hourMs)}.csv"`,
    );
    const lines = (await answer.text()).trim().split('\n');
    expect(lines).toHaveLength(25);
    expect(lines[0]).toContain('time,open,high,low,close,volume');
    // All three years do not fit into what the connection holds. A download ends a moment after its last byte.
    const begin = (words: string) => fetch(`${world.url}dashboard/series/${seriesId}/points.csv?${words}`);
    let stalled = await begin(`from=${startMs}&to=${endMs}`);
    while (stalled.status === 503) {
      await stalled.body?.cancel();
      stalled = await begin(`from=${startMs}&to=${endMs}`);
    }
    expect(stalled.status).toBe(200);
    await stalled.body?.cancel();
    await expect.poll(async () => (await begin(range)).status, { timeout: 20_000 }).toBe(200);
  });

  it('draws candles, gaps, volumes and times, with exact values, and loads each part once', async () => {
    const { page, asked } = await open(`${world.url}docs`);
    await page.addInitScript(recordDrawnTexts);
    await page.goto(at(seriesId));
    await asStored(page);
    await page.locator('.connection', { hasText: 'Live' }).waitFor();
    await page.getByText('1 gap of').first().waitFor();
    const paths = asked.filter((path) => /^\/dashboard\/(series|bands)/.test(path));
    expect(paths).toEqual([...new Set(paths)]);
    expect(paths).toContain(`/dashboard/series/${seriesId}`);
    const text = await pointAt(page, 0.2);
    const value = closeAt(timeIn(text));
    expect(text).toContain(`open ${value} · high ${value} · low ${value} · close ${value} · volume ${value}`);
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
    // A row for each pane, with a row between them and one of times.
    expect(await page.locator('.chart table tr').count()).toBeGreaterThanOrEqual(4);
    await page.locator('.newest', { hasText: `close ${closeAt(endMs - hourMs)}` }).waitFor();
    await page.goto(at(seriesId, `&from=${day(endMs - dayMs)}T12:00Z&to=${day(endMs)}`));
    await holds(page, 'window.drawn.some((text) => /^\\d\\d:00$/.test(text))');
  });

  it('moves by keys, wheel and drag within the series, and loads bounded pieces', async () => {
    const { page, asked } = await open(at(seriesId));
    await asStored(page);
    const press = async (key: string, times = 1) => {
      for (let pressed = 0; pressed < times; pressed += 1) await page.keyboard.press(key);
    };
    await chartOf(page).focus();
    await press('ArrowLeft', 10);
    await chart(
      page,
      new RegExp(`^Chart from ${day(endMs - (150 + 10 * 30) * hourMs)}.* 1(?:49|50|51) values of h1, 0 gaps`),
    );
    for (const { interval, from, to } of pointsAsked(asked)) {
      expect(interval).toBe('h1');
      expect((to - from) / hourMs).toBeLessThanOrEqual(2000);
      expect(from).toBeGreaterThan(startMs + 365 * dayMs);
    }
    await press('Home');
    await chart(page, new RegExp(`^Chart from ${day(startMs)} to`));
    await asStored(page);
    const exact = page.locator('.exact');
    const pointed: EpochMs[] = [];
    for (const to of ['Right', 'Right', 'Right', 'Left']) {
      await press(`Shift+Arrow${to}`);
      await exact.filter({ hasText: 'close' }).waitFor();
      pointed.push(timeIn((await exact.textContent()) ?? ''));
    }
    expect(pointed.map((timeMs) => (timeMs - (pointed[0] ?? 0)) / hourMs)).toEqual([0, 1, 2, 1]);
    await press('End');
    await chart(page, / 1 gaps$/);
    await press('-', 2);
    await page.getByText('Candles of h2, aggregated from h1.').waitFor();
    const box = await page.locator('.chart').boundingBox();
    if (box === null) throw new Error('there is no chart');
    const { fromMs } = await rangeOf(page);
    await page.mouse.move(box.x + 100, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 900, box.y + 50, { steps: 8 });
    await page.mouse.up();
    await expect.poll(async () => (await rangeOf(page)).fromMs).toBeLessThan(fromMs);
    const turn = async (by: number) => {
      await page.mouse.wheel(0, by);
      return (await chartOf(page).getAttribute('aria-label')) ?? '';
    };
    const everything = new RegExp(`^Chart from ${day(startMs)} to ${day(endMs)}, \\d+ values of w1`);
    await expect.poll(() => turn(300), { interval: 50 }).toMatch(everything);
    await expect.poll(() => turn(-170), { interval: 50 }).toMatch(/ values of h1/);
    expect(asked.filter((path) => /points\?.*\./.test(path))).toEqual([]);
  });

  it('marks the months of a drag over the calendar, which chooses nothing where it ends elsewhere', async () => {
    const { page } = await open(at(seriesId));
    await asStored(page);
    const months = page.locator('.calendar td[data-state]');
    await months.nth(3).scrollIntoViewIfNeeded();
    const [one, other] = [await months.nth(1).boundingBox(), await months.nth(3).boundingBox()];
    if (one === null || other === null) throw new Error('no calendar');
    const to = ({ x, y, width, height }: typeof one) => page.mouse.move(x + width / 2, y + height / 2, { steps: 3 });
    const marked = page.locator('.calendar td.dragged');
    await to(one);
    await page.mouse.down();
    await to(other);
    await expect.poll(() => marked.count()).toBe(3);
    await page.mouse.move(1, 1);
    await page.mouse.up();
    await expect.poll(() => marked.count()).toBe(0);
    // What begins elsewhere, or with another button, is no drag either.
    await page.mouse.down();
    await to(other);
    await page.mouse.up();
    await to(one);
    await page.mouse.down({ button: 'right' });
    await to(other);
    await page.mouse.up({ button: 'right' });
    expect(page.url()).toBe(at(seriesId));
    await to(one);
    await page.mouse.down();
    await to(other);
    await page.mouse.up();
    await page.waitForURL(/since=.*&until=/);
  });

  it('gives the chosen range to the keyboard, and the focus back when Escape closes it', async () => {
    const { page } = await open(at(seriesId));
    await asStored(page);
    const chosen = page.getByRole('region', { name: 'Chosen range' });
    const isFocused = (what: Locator) => what.and(page.locator(':focus')).waitFor();
    const link = page
      .getByRole('table', { name: /gap, cut/ })
      .getByRole('link')
      .first();
    for (const opener of [link, button(page, 'Choose this range')]) {
      await opener.focus();
      await page.keyboard.press('Enter');
      await isFocused(chosen);
      await page.keyboard.press('Tab');
      await isFocused(chosen.getByRole('button', { name: 'Close' }));
      await page.keyboard.press('Escape');
      await chosen.waitFor({ state: 'detached' });
      await isFocused(opener);
    }
  });

  it('keeps its options in the address: span, scale, range and zone', async () => {
    const { page } = await open(at(seriesId), { timezoneId: 'Asia/Kolkata' });
    await asStored(page);
    await button(page, '1 week').click();
    await button(page, 'Log scale').click();
    await isPressed(page, 'Log scale', true);
    expect(search(page)).toBe(`?series=${seriesId}&scale=log&span=1+week`);
    await page.reload();
    await isPressed(page, '1 week', true);
    await isPressed(page, 'Log scale', true);
    await chart(page, / 14[789] values of h1/);
    await chartOf(page).focus();
    await page.keyboard.press('ArrowLeft');
    // What no button made is in the address as a range.
    await page.waitForURL(/&from=.+&to=/);
    await isPressed(page, '1 week', false);
    const shown = await chartOf(page).getAttribute('aria-label');
    await page.reload();
    await page.getByRole('group', { name: shown ?? '' }).waitFor();

    await page.goto(at(seriesId));
    await page.locator('.newest', { hasText: `Newest, ${day(endMs - hourMs)} 23:00Z` }).waitFor();
    await zone(page).fill('no such zone');
    await zone(page).press('Tab');
    await expect.poll(() => zone(page).inputValue()).toBe('UTC');
    await zone(page).fill('Local time');
    await zone(page).press('Tab');
    await page.locator('.newest', { hasText: `Newest, ${day(endMs)} 04:30+05:30` }).waitFor();
    await page.reload();
    await page.locator('.zone', { hasText: 'UTC+05:30' }).waitFor();
    expect(await zone(page).inputValue()).toBe('Local time');
    // Another zone by its name, and the whole days there of what the screen has.
    await zone(page).fill('america/new_york');
    await zone(page).press('Tab');
    await page.waitForURL(/&zone=America%2FNew_York/);
    await page.locator('.zone', { hasText: /^UTC-0[45]:00$/ }).waitFor();
    await button(page, 'Choose this range').click();
    await button(page, 'Whole days of America/New_York').click();
    await page.waitForURL(/since=\d{4}-\d\d-\d\dT0[45](?:%3A00)?Z&until=\d{4}-\d\d-\d\dT0[45](?:%3A00)?Z/);
    const chosen = page.getByRole('region', { name: 'Chosen range' });
    const heading = chosen.getByRole('heading', { level: 2 });
    await heading.filter({ hasText: /^\S+ 00:00-0[45]:00 to \S+ 00:00-0[45]:00$/ }).waitFor();
    await expectAccessible(page, 'the chart in another zone');
    await button(page, 'Full screen').click();
    await holds(page, 'document.fullscreenElement !== null');
    await expectAccessible(page, 'the chart in full screen');
  });

  it('says what an address names that does not exist', async () => {
    const { page } = await open(world.url);
    for (const id of [9999, 3_000_000_000]) {
      await page.goto(at(id));
      await page.getByRole('alert').getByText(`There is no series with the id ${id}.`).waitFor();
      expect(await page.getByText('Loading.').count()).toBe(0);
      expect(await page.locator('main svg').count()).toBe(0);
    }
    for (const search of ['?series=bitcoin', '?series=', '?view=no-such']) {
      await page.goto(`${world.url}${search}`);
      await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
    }
    await page.goto(at(seriesId, '&compare=9999'));
    await page.getByText('There is no series with the id 9999.').waitFor();
    await asStored(page);
  });

  it('shows a chosen span at another width of the screen', async () => {
    const { page } = await open(at(seriesId), { viewport: { width: 1440, height: 900 } });
    await asStored(page);
    await button(page, '1 week').click();
    await isPressed(page, '1 week', true);
    const firstIn = async () => (timeIn(await pointAt(page, 0.003)) - (endMs - 7 * dayMs)) / hourMs;
    for (const width of [1440, 1024, 1300]) {
      await page.setViewportSize({ width, height: 900 });
      await expect.poll(async () => Math.abs(await firstIn()), { message: `${width}` }).toBeLessThan(2);
      await isPressed(page, '1 week', true);
    }
  });

  it('goes back by one choice, and leaves the series after the last one', async () => {
    const { page, asked } = await open(world.url);
    await page.getByRole('link', { name: 'kraken bitcoin/euro h1' }).click();
    await chart(page, / 130 values of h1, 1 gaps/);
    const details = asked.filter((path) => path === `/dashboard/series/${seriesId}`).length;
    await button(page, '1 week').click();
    await button(page, 'Log scale').click();
    await page.getByLabel('Interval').selectOption('h4');
    await chart(page, / values of h4/);
    await zone(page).fill('local');
    await zone(page).press('Tab');
    await page.waitForURL(/zone=local/);
    await chartOf(page).focus();
    // Movements in a row are one choice.
    for (let times = 0; times < 3; times += 1) {
      await page.keyboard.press('ArrowLeft');
      const { fromMs } = await rangeOf(page);
      await page.waitForURL((url) => url.search.includes(`from=${day(fromMs)}`));
    }
    await page.goBack();
    await expect.poll(() => zone(page).inputValue()).toBe('Local time');
    await isPressed(page, '1 week', true);
    expect(search(page)).toBe(`?series=${seriesId}&scale=log&span=1+week&bars=h4&zone=local`);
    await page.goBack();
    await expect.poll(() => zone(page).inputValue()).toBe('UTC');
    await chart(page, / values of h4/);
    await page.goBack();
    await chart(page, / values of h1/);
    await isPressed(page, 'Log scale', true);
    await page.goBack();
    await isPressed(page, 'Log scale', false);
    await isPressed(page, '1 week', true);
    await page.goBack();
    await isPressed(page, '1 week', false);
    await chart(page, / 130 values of h1, 1 gaps/);
    await page.goForward();
    await isPressed(page, '1 week', true);
    await page.goBack();
    await chart(page, / 130 values of h1, 1 gaps/);
    // The same chart: nothing of the series was read again.
    expect(asked.filter((path) => path === `/dashboard/series/${seriesId}`)).toHaveLength(details);
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  });

  it('says that a compared series is loading, and has its legend in the pane', async () => {
    const other = await filled('compared', [endMs - 100 * dayMs, endMs]);
    const { page } = await open(at(seriesId));
    const release = await holdBack(page, `**/series/${other}/points*`);
    await asStored(page);
    await page.getByLabel('Compare with').fill('kraken compared/euro h1');
    await page.getByText('kraken compared/euro h1 is loading.').waitFor();
    release();
    const legend = page.locator('dl.compared');
    await legend
      .getByText(/^100(\.\d+)?$|^\d+\.\d\d$/)
      .first()
      .waitFor();
    expect(await legend.locator('dt').allTextContents()).toEqual([
      ...['kraken bitcoin/euro h1', 'kraken compared/euro h1', '100 at'],
    ]);
    await expectAccessible(page, 'a comparison');
    for (const width of [1440, 1024]) {
      await page.setViewportSize({ width, height: 900 });
      await pointAt(page, 0.5);
      const pane = await page.locator('.chart td:nth-child(2)').first().boundingBox();
      const values = await page.locator('.values').boundingBox();
      if (pane === null || values === null) throw new Error('there is no legend');
      expect(values.y).toBeGreaterThanOrEqual(pane.y);
      expect(values.y + values.height).toBeLessThan(pane.y + pane.height / 2);
      expect(values.x + values.width).toBeLessThanOrEqual(pane.x + pane.width);
    }
    await page.goBack();
    await legend.waitFor({ state: 'detached' });
  });

  it('follows the end of the series, and new commits, unless the user moved away', async () => {
    // A service of its own: with a clock that is set back, a reading that is under way would give the later time.
    let ownMs = endMs - 99.5 * hourMs;
    const own = await openDashboardWorld(store, {}, 0, () => ownMs);
    onTestFinished(() => own.close());
    const series = { ...market, baseId: 'followed' };
    const { seriesId: id } = await trackSeries(store.database, series, endMs - 300 * hourMs, null);
    const commitTo = (from: number, to: number) => {
      const window = { startMs: endMs - from * hourMs, endMs: endMs - to * hourMs };
      return commitPoints(store.database, { seriesId: id, series, window });
    };
    await commitTo(300, 100);
    const { page, asked } = await open(`${own.url}?series=${id}`);
    const timeText = (before: number) =>
      new Date(endMs - before * hourMs).toISOString().slice(0, 16).replace('T', ' ').replace(' 00:00', '');
    /** Hours before the end of the test's series. */
    const chartEnds = (before: number) => chart(page, new RegExp(` to ${timeText(before)}Z?, \\d+ values`));
    const newest = (before: number) =>
      page.locator('details tbody tr:first-child td:first-child', { hasText: timeText(before) }).waitFor();
    await chartEnds(99);
    await page.getByText('The values on screen as a table').click();
    await newest(101);
    ownMs += 5 * hourMs;
    await commitTo(100, 95);
    await chartEnds(94);
    await newest(96);
    // Without a commit as well.
    ownMs += 4 * hourMs;
    await chartEnds(90);
    await chartOf(page).focus();
    await page.keyboard.press('ArrowLeft');
    await chartEnds(120);
    const loaded = page.waitForResponse(/\/points\?/);
    ownMs += 3 * hourMs;
    await commitTo(95, 88);
    await page.getByText('212 points').waitFor();
    await loaded;
    await chartEnds(120);
    await page.keyboard.press('End');
    await chartEnds(87);
    expect(pointsAsked(asked).length).toBeGreaterThan(2);
  });

  it('draws events as bars from zero, with their sums in longer periods, and as a pane below candles', async () => {
    const perpetual = { ...market, quoteId: 'tether:tether', interval: 'h1' } as const;
    const funding = { ...perpetual, dataset: 'funding_rates' } as const;
    const { seriesId: id } = await trackSeries(store.database, funding, endMs - 20 * dayMs, endMs);
    await store.database.pool.query(
      `insert into tidemark.funding_rate_points (series_id, time, rate, interval_hours)
       select $1, time, case when extract(hour from time) = 8 then -0.0003 else 0.0001 end, 8
       from generate_series(to_timestamp($2), to_timestamp($3), '8 hours') time`,
      [id, endMs / 1000 - 20 * 86_400, endMs / 1000 - 3600],
    );
    const { page, asked } = await open(at(id));
    await page.getByText('Every point of h1, as stored.').waitFor();
    await page
      .locator('.newest', { hasText: `${day(endMs - dayMs)} 16:00Z: rate 0.0001 · annual rate 0.1095` })
      .waitFor();
    expect(await pointAt(page, 1 - 6 / 150)).toMatch(/: no value, /);
    await chartOf(page).focus();
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Shift+ArrowLeft');
    await page.locator('.exact', { hasText: '08:00Z: rate -0.0003 · annual rate -0.3285' }).waitFor();
    // Below zero and in another colour: no column of the pane has both.
    const changes = (place: number) =>
      page.evaluate(`(() => {
      const canvas = document.querySelector('.chart tr:nth-child(${place}) td:nth-child(2) canvas');
      const { width, height } = canvas;
      const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
      const seen = {};
      for (const name of ['--up', '--down']) {
        const colour = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
        const [, ...parts] = /^#(..)(..)(..)$/.exec(colour).map((part) => Number.parseInt(part, 16));
        const rows = [];
        for (let at = 0; at < data.length; at += 4)
          if (parts.every((part, place) => data[at + place] === part)) rows.push(Math.floor(at / 4 / width));
        seen[name] = { least: Math.min(...rows), most: rows.at(-1) ?? -1 };
      }
      return seen;
    })()`) as Promise<Record<'--up' | '--down', { least: number; most: number }>>;
    const drawn = await changes(1);
    expect(drawn['--up'].most).toBeGreaterThan(drawn['--up'].least);
    expect(drawn['--down'].most).toBeGreaterThan(drawn['--down'].least);
    expect(drawn['--up'].most).toBeLessThanOrEqual(drawn['--down'].least);
    expect(await button(page, 'Log scale').isDisabled()).toBe(true);
    await page.getByLabel('Interval').selectOption('d1');
    await page.getByText('Sums of d1, aggregated from h1.').waitFor();
    await page.locator('.newest', { hasText: `${day(endMs - dayMs)}: rate -0.0001 · annual rate -0.0365` }).waitFor();
    await expectAccessible(page, 'the page of funding');

    // Below the candles of its market it is a pane, as is open interest, which lacks the last 30 hours.
    const { seriesId: candles } = await trackSeries(store.database, perpetual, endMs - 20 * dayMs, endMs);
    const window = { startMs: endMs - 20 * dayMs, endMs };
    await commitPoints(store.database, { seriesId: candles, series: perpetual, window });
    const interest = { ...perpetual, dataset: 'open_interest', interval: 'm30' } as const;
    const { seriesId: other } = await trackSeries(store.database, interest, endMs - 20 * dayMs, endMs);
    await store.database.pool.query(
      `insert into tidemark.open_interest_points (series_id, time, amount)
       select $1, time, extract(epoch from time)::integer from generate_series($2::timestamptz, $3, '30 minutes') time`,
      [other, new Date(endMs - 20 * dayMs), new Date(endMs - 30 * hourMs)],
    );
    for (const [covered, hours] of [
      [id, 0],
      [other, 30],
    ] as const)
      await store.database.pool.query(
        `update tidemark.series set covered = tstzmultirange(tstzrange($2, $3)) where id = $1`,
        [covered, new Date(endMs - 20 * dayMs), new Date(endMs - hours * hourMs)],
      );
    asked.length = 0;
    const release = await holdBack(page, `**/series/${id}/points*`);
    await page.goto(at(candles));
    await asStored(page);
    await chart(page, / 0 gaps; below it funding rates, open interest$/);
    // Prices, volumes, funding, open interest, times, and a row between each two panes.
    await expect.poll(() => page.locator('.chart table tr').count()).toBe(8);
    release();
    await expect.poll(async () => (await changes(5))['--down'].most).toBeGreaterThan(0);
    const before = (hours: number) => new Date(endMs - hours * hourMs).toISOString().slice(0, 16).replace('T', ' ');
    const shown = await pointAt(page, 1 - 34.5 / 150);
    expect(shown.split('\n').slice(1)).toEqual([
      `funding rates, ${before(40)}Z: rate -0.0003 · annual rate -0.3285`,
      `open interest, ${before(34)}Z: ${(endMs - 33.5 * hourMs) / 1000}`,
    ]);
    expect(await pointAt(page, 1 - 10 / 150)).toMatch(/\nopen interest: no value, gap$/);
    await page.getByText('The values on screen as a table').click();
    const cells = page.locator('details table tr', { hasText: before(32) }).locator('td');
    await expect
      .poll(async () => (await cells.allTextContents()).slice(-2))
      .toEqual(['0.0001', `${(endMs - 31.5 * hourMs) / 1000}`]);
    expect(new Set(pointsAsked(asked).map(({ interval }) => interval))).toEqual(new Set(['h1']));
    await expectAccessible(page, 'candles with panes');
    // Of another interval: values of the one before are not on its axis.
    const releaseSums = await holdBack(page, `**/series/${id}/points*`);
    await button(page, 'All').click();
    await page.getByText('Candles of h2, aggregated from h1.').waitFor();
    expect((timeIn(await pointAt(page, 0.98)) - endMs) / dayMs).toBeGreaterThan(-1);
    releaseSums();
    await page.getByRole('link', { name: 'open interest of m30' }).click();
    await page.getByText('Every point of m30, as stored.').waitFor();
  });
});

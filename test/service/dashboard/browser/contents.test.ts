/** What the pages show beside the list of series: matrix, calendar, bands, events, lists, and the options of the chart. */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayMs } from '../../../../contract/intervals.ts';
import { describeNeeding } from '../../../parts/describe-needing.ts';
import { expectAccessible } from './accessible.ts';
import { open, withBrowser } from './browser.ts';
import { endMs, type FilledWorld, hole, openFilledWorld, startMs } from './filled-world.ts';

describeNeeding('chromium', 'the contents of the store in a browser', () => {
  withBrowser();
  let world: FilledWorld;
  beforeAll(async () => {
    world = await openFilledWorld();
  });
  afterAll(() => world.close());

  const search = (page: Page) => decodeURIComponent(new URL(page.url()).search);
  const chart = (page: Page, name: RegExp) => page.getByRole('group', { name }).waitFor();

  it('opens the series of an exchange and interval', async () => {
    const { page } = await open(world.url);
    const matrix = page.getByRole('group', { name: 'By exchange and interval' });
    const rows = matrix.getByRole('row');
    await matrix.getByRole('link', { name: /^98.68 %/ }).waitFor();
    expect(await rows.allTextContents()).toEqual([
      'Exchangeh1d1',
      'assets0.00 %1 series',
      'kraken98.68 %1 series100 %1 series',
    ]);
    await matrix.getByRole('link', { name: /^98.68 %/ }).click();
    await page.getByText('1 to 1 of 1 series').waitFor();
    expect(search(page)).toBe('?exchange=kraken&interval=h1');
    await page.getByRole('button', { name: 'interval h1' }).click();
    await page.getByText('1 to 2 of 2 series').waitFor();
    await page.reload();
    await page.getByText('1 to 2 of 2 series').waitFor();
    expect(search(page)).toBe('?exchange=kraken');
  });

  it('shows the months of all series, and opens one of a series in its chart', async () => {
    const { page } = await open(world.url);
    const calendar = page.getByRole('group', { name: 'Coverage by month' });
    await calendar.getByRole('row', { name: /^2024/ }).waitFor();
    expect(await calendar.getByRole('row').count()).toBe(3);
    // Two of 29 days of one series are missing, and all of the history.
    const february = calendar.getByRole('row', { name: /^2024/ }).getByRole('cell').nth(1);
    expect(await february.textContent()).toBe('64.36 %');
    await page.goto(`${world.url}?series=${world.seriesId}`);
    await calendar.getByRole('row', { name: /^2024/ }).getByRole('link', { name: '93.10 %' }).click();
    await chart(
      page,
      /^Chart from 2024-02-01 to 2024-03-01, 6\d\d values of h1, 1 gaps$|^Chart from 2024-02-01 to 2024-03-01, \d+ values of h2, 1 gaps$/,
    );
    expect(search(page)).toBe(`?series=${world.seriesId}&from=2024-02-01&to=2024-03-01`);
  });

  it('names the range under the pointer of a band, and opens it', async () => {
    const { page } = await open(world.url);
    const band = page.locator(`[data-series="${world.seriesId}"] svg`);
    await band.locator('rect.gap').waitFor();
    await band.scrollIntoViewIfNeeded();
    const box = await band.boundingBox();
    if (box === null) throw new Error('there is no band');
    const at = ((hole.startMs + hole.endMs) / 2 - startMs) / (endMs - startMs);
    await page.mouse.move(box.x + box.width * at, box.y + box.height / 2);
    await page
      .locator('.tip', { hasText: /^gap: 2024-02-0[89].* to 2024-02-1[23].*, awaits a request$/ })
      .waitFor();
    await page.mouse.click(box.x + box.width * at, box.y + box.height / 2);
    await chart(page, /^Chart from 2024-02-0\d.* 1 gaps$/);
    expect(search(page)).toMatch(new RegExp(`^\\?series=${world.seriesId}&from=2024-02-0.*&to=2024-02-1`));
    // The list of gaps does the same.
    await page.goto(`${world.url}?series=${world.seriesId}`);
    await page.getByRole('link', { name: '2024-02-10' }).click();
    await chart(page, /^Chart from 2024-02-10 to 2024-02-12/);
    // The page of the series knows the reason.
    const own = await page.locator('.band-frame svg').boundingBox();
    if (own === null) throw new Error('there is no band');
    await page.mouse.move(own.x + own.width * at, own.y + own.height / 2);
    await page.locator('.tip', { hasText: /^gap: .*, awaits a request$/ }).waitFor();
  });

  it('has a choice of the interval that the address keeps', async () => {
    const { page } = await open(`${world.url}?series=${world.seriesId}`);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    const picker = page.getByLabel('Interval');
    expect((await picker.locator('option').allTextContents()).slice(0, 4)).toEqual([
      'as fits',
      'h1',
      'h2, derived',
      'h4, derived',
    ]);
    await picker.selectOption('h4, derived');
    await page.getByText('Candles of h4, aggregated from h1.').waitFor();
    await page.getByRole('button', { name: 'All' }).click();
    await chart(page, /values of h4/);
    await page.reload();
    await chart(page, /values of h4/);
    await picker.selectOption('h1');
    await page.getByText('Every candle of h1, as stored.').waitFor();
    const label = (await page.getByRole('group', { name: /^Chart from/ }).getAttribute('aria-label')) ?? '';
    const [, values = '0'] = /, (\d+) values/.exec(label) ?? [];
    // A chosen interval shows no more than fits.
    expect(Number(values)).toBeGreaterThan(1000);
    expect(Number(values)).toBeLessThanOrEqual(1500);
    await page.getByText('A screen has at most 1,500 of them.').waitFor();
    // A button that cannot be followed is not shown as followed, after a reload neither.
    const all = page.getByRole('button', { name: 'All', exact: true });
    await all.click();
    await expect.poll(() => search(page)).toMatch(/&from=.+&to=/);
    expect(await all.getAttribute('aria-pressed')).toBe('false');
    expect(search(page)).not.toContain('span');
    await page.goto(`${world.url}?series=${world.seriesId}&span=All&bars=h1`);
    await page.getByText('A screen has at most 1,500 of them.').waitFor();
    expect(await all.getAttribute('aria-pressed')).toBe('false');
    await picker.selectOption('');
    await all.click();
    await expect.poll(() => all.getAttribute('aria-pressed')).toBe('true');
    expect(await page.getByText('A screen has at most').count()).toBe(0);
  });

  it('compares two series as parts of 100', async () => {
    const { page } = await open(`${world.url}?series=${world.seriesId}`);
    await page.getByText('Every candle of h1, as stored.').waitFor();
    await page.getByLabel('Compare with').fill('kraken ethereum/euro d1');
    await page.getByText('kraken ethereum/euro d1 has no value at the times and interval').waitFor();
    await page.getByRole('button', { name: 'All' }).click();
    await page.getByLabel('Interval').selectOption('d1, derived');
    await page.getByText(/^From 100 at 2023-11-01: .* and kraken ethereum\/euro d1 \d+\.\d\d$/).waitFor();
    // Values of the test grow with time: the closes of the first and the last day.
    const last = (endMs - dayMs) / startMs;
    expect(await page.locator('.compared-name').textContent()).toContain((last * 100).toFixed(2));
    expect(await page.getByRole('button', { name: 'Log scale' }).isDisabled()).toBe(true);
    await expectAccessible(page, 'a comparison');
    await page.reload();
    await page.locator('.compared-name').waitFor();
    await page.getByLabel('Compare with').fill('');
    await page.locator('.compared').waitFor({ state: 'detached' });
  });

  it("writes times on the reader's clock, with its zone", async () => {
    const { page } = await open(`${world.url}?series=${world.seriesId}`, { timezoneId: 'Asia/Kolkata' });
    await page.locator('.newest', { hasText: 'Newest, UTC: 2024-03-31 23:00Z' }).waitFor();
    expect(await page.locator('.zone').textContent()).toBe('UTC');
    await page.getByRole('button', { name: 'Local time' }).click();
    await page.locator('.newest', { hasText: 'Newest, UTC+05:30: 2024-04-01 04:30+05:30' }).waitFor();
    expect(await page.locator('.zone').textContent()).toBe('UTC+05:30');
    await page.reload();
    await page.locator('.zone', { hasText: 'UTC+05:30' }).waitFor();
    await page.getByText('The values on screen as a table').click();
    await page.getByRole('cell', { name: '2024-04-01 04:30+05:30' }).waitFor();
  });

  it('writes the zone in front of the axes, also beside a narrow axis of prices', async () => {
    const timezoneId = 'Asia/Kolkata';
    const { page } = await open(`${world.url}?series=${world.emptyId}&zone=local`, { timezoneId });
    await page.getByText('No stored data in this range.').waitFor();
    await page.locator('.zone', { hasText: 'UTC+05:30' }).waitFor();
    const isInFront = await page.evaluate(`(() => {
      const zone = document.querySelector('.zone');
      zone.style.pointerEvents = 'auto';
      const { left, top, height } = zone.getBoundingClientRect();
      return document.elementFromPoint(left + 1, top + height / 2) === zone;
    })()`);
    expect(isInFront).toBe(true);
  });

  it('lists what happened, and the entries of a list with their changes', async () => {
    const { page } = await open(world.url);
    await page.getByRole('link', { name: 'Events' }).click();
    await page
      .getByText(/^schema migrated: /)
      .first()
      .waitFor();
    await expectAccessible(page, 'the events');
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: 'assets', exact: true }).last().click();
    const row = page.getByRole('row', { name: /^bitcoin/ });
    await row.getByText('before: 1.10').waitFor();
    await row.getByText('1.20').waitFor();
    await page.getByText('No entry has left the list.').waitFor();
    await expectAccessible(page, 'the contents of a list');
    await page.goto(`${world.url}?view=list&list=nothing`);
    await page.getByRole('alert').getByText('Cannot load').waitFor();
  });

  it('says what is on disk', async () => {
    const { page } = await open(world.url);
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'On disk' }) });
    await section.getByRole('row', { name: /^candles/ }).waitFor();
  });
});

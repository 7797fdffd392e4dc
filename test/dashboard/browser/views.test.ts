/** One walk through the views that hold the contents of the store, and one through the pages beside the dashboard. */

import { afterAll, beforeAll, expect, it } from 'vitest';
import { hourMs } from '../../../model/intervals.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { market } from '../dashboard-world.ts';
import { expectAccessible } from './accessible.ts';
import { open, withBrowser } from './browser.ts';
import { endMs, type FilledWorld, hole, openFilledWorld, startMs } from './filled-world.ts';

describeNeeding('chromium', 'the views in a browser', () => {
  withBrowser();
  let world: FilledWorld;
  beforeAll(async () => {
    world = await openFilledWorld();
  });
  afterAll(() => world.close());

  it('lead from the overview to series, months, ranges, events and lists', async () => {
    const { page } = await open(world.url);
    const chart = (name: RegExp) => page.getByRole('group', { name }).waitFor();
    const onDisk = page.locator('section', { has: page.getByRole('heading', { name: 'On disk' }) });
    await onDisk.getByRole('row', { name: /^candles/ }).waitFor();

    /** The pointer on the middle of the gap. */
    const pointAtHole = async (band: string) => {
      const svg = page.locator(`${band} svg`).first();
      await svg.locator('rect.gap').first().waitFor();
      await svg.scrollIntoViewIfNeeded();
      const { x, y, width, height } = (await svg.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      const at = ((hole.startMs + hole.endMs) / 2 - startMs) / (endMs - startMs);
      await page.mouse.move(x + width * at, y + height / 2);
      await page.locator('.tip', { hasText: /^gap: 2024-02-0[89].* to 2024-02-1[23].*, awaits a request$/ }).waitFor();
      return () => page.mouse.click(x + width * at, y + height / 2);
    };
    const click = await pointAtHole(`[data-series="${world.seriesId}"]`);
    await click();
    await chart(/^Chart from 2024-02-0\d.* 1 gaps$/);
    await page.goto(`${world.url}?series=${world.seriesId}`);
    await pointAtHole('main > .band-frame');
    await page.getByRole('link', { name: '2024-02-10' }).click();
    await chart(/^Chart from 2024-02-10 to 2024-02-12/);
    // Two of 29 days are missing.
    const calendar = page.getByRole('group', { name: 'Coverage by month' });
    await calendar.getByRole('row', { name: /^2024/ }).getByRole('link', { name: '93.10 %' }).click();
    await chart(/^Chart from 2024-02-01 to 2024-03-01, \d+ values of h\d, 1 gaps$/);

    await page.getByRole('link', { name: 'Events' }).click();
    await page
      .getByText(/^schema 0001 to \d{4}$/)
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: 'assets', exact: true }).last().click();
    const row = page.getByRole('row', { name: /^bitcoin/ });
    await row.getByText('before: 1.10').waitFor();
  });

  it('leave times that none can be shown of out of the address', async () => {
    const { page } = await open(`${world.url}?find=bitcoin&minute=%2B275760-09-12T23:59Z#series`);
    await page.getByText('1 to 2 of 2 series').waitFor();
    expect(page.url()).toBe(`${world.url}?find=bitcoin#series`);
    const last = '%2B275760-09-13';
    await page.goto(`${world.url}?series=${world.seriesId}&from=9000-01-01&to=${last}&since=2024-01-01&until=${last}`);
    await page.getByRole('group', { name: /^Chart from 2024-03-/ }).waitFor();
    expect(page.url()).toBe(`${world.url}?series=${world.seriesId}`);
    expect(await page.getByRole('region', { name: 'Chosen range' }).count()).toBe(0);
  });

  it('are found by / and Ctrl-K with series and actions, by keys alone', async () => {
    const { page } = await open(world.url);
    const finder = page.getByRole('dialog', { name: 'Series, views and actions' });
    const selected = (name: RegExp) => finder.getByRole('option', { name, selected: true }).waitFor();
    await page.locator('.connection', { hasText: 'Live' }).waitFor();
    await page.keyboard.press('/');
    await selected(/^Overview view$/);
    await expectAccessible(page, 'the finder');
    await page.keyboard.type('eth d1');
    await selected(/^kraken ethereum\/euro d1 series$/);
    await page.keyboard.press('Enter');
    await finder.waitFor({ state: 'hidden' });
    await page.getByRole('heading', { level: 1, name: 'kraken ethereum/euro d1' }).waitFor();

    // An action of the series in front of the reader, after its cost.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('verify');
    await selected(/^Verify a sample: kraken ethereum\/euro d1 action$/);
    await page.keyboard.press('Enter');
    await finder.getByRole('button', { name: 'Verify a sample: kraken ethereum/euro d1' }).waitFor();
    await page.keyboard.press('Escape');
    await finder.waitFor({ state: 'hidden' });
    // Opened again, the field has the keys, and another series may be acted on.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('untrack bitcoin euro');
    await selected(/^Untrack: kraken bitcoin\/euro h1 action$/);
    await page.keyboard.press('Escape');

    // A budget takes a figure, whose field has the keys.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('budget default');
    await selected(/^Change the budget of default action$/);
    await page.keyboard.press('Enter');
    await page.keyboard.type('much');
    await finder.getByRole('button', { name: 'Change the budget of default' }).click();
    await finder.getByText(/give a whole number of requests a minute/).waitFor();
    await page.keyboard.press('Escape');
    await finder.waitFor({ state: 'hidden' });

    // The form opens, and its first field has the keys.
    await page.keyboard.press('Control+k');
    await page.keyboard.type('track');
    await selected(/^Track a market action$/);
    await page.keyboard.press('Enter');
    await finder.waitFor({ state: 'hidden' });
    await page.locator('#track-dataset:focus').waitFor();
    await page.getByRole('button', { name: 'Show the cost' }).waitFor();

    // A slash in a field is a slash; the last view after the arrow up.
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('searchbox', { name: 'Find' }).fill('bitcoin/');
    await page.keyboard.press('/');
    expect(await finder.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Find anything' }).click();
    await finder.getByRole('combobox').fill('zzz');
    await finder.getByText('Nothing has such a name.').waitFor();
    await finder.getByRole('combobox').fill('events');
    await finder.getByRole('option', { name: 'Events view' }).click();
    await page.waitForURL(/view=events/);
  });

  it('go on to the interface and the keys, where requests can be tried, also without scripts', async () => {
    const { page } = await open(`${world.url}no/such/page`);
    const go = (name: string) => page.getByRole('navigation').first().getByRole('link', { name }).click();
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await go('Interface');
    await page.getByRole('heading', { name: 'Market Data Service' }).waitFor();

    const candles = page.locator('section#candles');
    await page
      .getByRole('navigation', { name: 'Endpoints' })
      .getByRole('link', { name: '/candles', exact: true })
      .click();
    await candles.getByText('Try it').click();
    const { exchange, interval, baseId, quoteId } = market;
    const values = { exchange, interval, baseId, quoteId, start: String(startMs), end: String(startMs + 2 * hourMs) };
    for (const [name, value] of Object.entries(values)) await candles.getByLabel(name, { exact: true }).fill(value);
    await candles.getByRole('button', { name: 'Send' }).click();
    await candles.getByText(/^Status 200, \d+ characters\.$/).waitFor();
    const answer = (await candles.getByLabel('Answer', { exact: true }).textContent()) ?? '';
    expect(answer).toContain('GET v2/candles?');
    expect(answer).toMatch(/^x-tidemark-coverage: share=1/m);
    expect(answer).toMatch(/\{"data":\[\{"open":"\d+\.\d{16}"/);

    const plain = (await open(`${world.url}docs`, { javaScriptEnabled: false })).page;
    await plain.locator('section#rates').getByText('Try it').click();
    await plain.locator('section#rates').getByRole('button', { name: 'Send' }).click();
    await plain.getByText(/^\{"data":\[/).waitFor();
  });
});

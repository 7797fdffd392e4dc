/** The description, the key form and errors in a browser: one frame with the dashboard, and requests that can be tried. */

import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeNeeding } from '../../../parts/describe-needing.ts';
import type { TestStore } from '../../../store/open-store.ts';
import { hours, nowMs, openStoredWorld, startMs } from '../../stored/stored-world.ts';
import { type DashboardWorld, openDashboardWorld } from '../dashboard-world.ts';
import { expectAccessible } from './accessible.ts';
import { open, withBrowser } from './browser.ts';

describeNeeding('chromium', 'the pages beside the dashboard in a browser', () => {
  withBrowser();
  let store: TestStore;
  let world: DashboardWorld;

  beforeAll(async () => {
    store = await openStoredWorld('main');
    world = await openDashboardWorld(store, {}, 0, () => nowMs);
  });
  afterAll(async () => {
    await world.close();
    await store.close();
  });

  const paths = ['docs', 'keys', 'no/such/page'];

  it('go from one to the other, and to the dashboard', async () => {
    const { page } = await open(`${world.url}no/such/page`);
    const go = (name: string) => page.getByRole('navigation').first().getByRole('link', { name }).click();
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await go('Interface');
    await page.getByRole('heading', { name: 'Market Data Service' }).waitFor();
    await go('Keys');
    await page.getByRole('heading', { name: 'Ask for a key' }).waitFor();
    await go('Dashboard');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await go('Interface');
    await page.getByRole('heading', { name: 'Market Data Service' }).waitFor();
  });

  const section = (page: Page, id: string) => page.locator(`section#${id}`);

  it('try requests, and show the answers as text with every digit', async () => {
    const { page } = await open(`${world.url}docs`);
    const candles = section(page, 'candles');
    await page.getByRole('navigation', { name: 'Endpoints' }).getByRole('link', { name: '/candles' }).click();
    await candles.getByText('Try it').click();
    const values = { exchange: hours.exchange, interval: 'h1', baseId: hours.baseId, quoteId: hours.quoteId };
    for (const [name, value] of Object.entries(values))
      await candles.getByLabel(name, { exact: true }).fill(value);
    await candles.getByLabel('start', { exact: true }).fill(String(startMs));
    await candles.getByLabel('end', { exact: true }).fill(String(startMs + 7_200_000));
    await candles.getByRole('button', { name: 'Send' }).click();
    await candles.getByText(/^Status 200, \d+ characters\.$/).waitFor();
    const answer = (await candles.getByLabel('Answer', { exact: true }).textContent()) ?? '';
    expect(answer).toContain('GET v2/candles?');
    expect(answer).toMatch(/^x-tidemark-coverage: share=1/m);
    expect(answer).toMatch(/\{"data":\[\{"open":"\d+\.\d{16}"/);

    const asset = section(page, 'asset');
    await asset.getByText('Try it').click();
    await asset.getByLabel('id', { exact: true }).fill('<b>/no thing');
    await asset.getByRole('button', { name: 'Send' }).click();
    await asset.getByText(/^Status 404/).waitFor();
    expect(await asset.getByLabel('Answer', { exact: true }).textContent()).toContain(
      '<b>/no thing not found',
    );

    await page.getByLabel('Key for the tries below').fill('tk_wrong');
    await asset.getByRole('button', { name: 'Send' }).click();
    await asset.getByText(/^Status 401/).waitFor();
  });

  it('work without scripts', async () => {
    const { page } = await open(`${world.url}docs`, { javaScriptEnabled: false });
    await section(page, 'rates').getByText('Try it').click();
    await section(page, 'rates').getByRole('button', { name: 'Send' }).click();
    await page.getByText('"rateUsd"').waitFor();
  });

  it.each(['light', 'dark'] as const)('are accessible, %s', async (colorScheme) => {
    for (const path of paths) {
      const { page } = await open(`${world.url}${path}`, { colorScheme });
      for (const details of await page.getByText('Try it').all()) await details.click();
      await expectAccessible(page, path);
    }
  });

  it.each([360, 768, 1280])('fit %i px', async (width) => {
    for (const path of paths) {
      const { page } = await open(`${world.url}${path}`, { viewport: { width, height: 800 } });
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(width);
    }
  });
});

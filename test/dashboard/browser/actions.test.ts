/** Actions of the page, with the service of the command line. */

import { expect, it } from 'vitest';
import { decimalText } from '../../../model/decimal.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { processesMs, tidemark } from '../../scripts/command.ts';
import { openServing } from '../serving.ts';
import { expectAccessible } from './accessible.ts';
import { holdBack, open, withBrowser } from './browser.ts';

describeNeeding('chromium', 'actions in a browser', () => {
  withBrowser();

  it(
    'needs the token of the address, tracks a market after its cost, pauses once confirmed, and retries once at a double click',
    async () => {
      const { address, token } = await openServing();
      const { page, asked } = await open(address);
      let isAccepted = true;
      page.on('dialog', (dialog) => void (isAccepted ? dialog.accept() : dialog.dismiss()));
      const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
      const said = (text: string | RegExp) => page.getByText(text).waitFor();

      await press('Pause');
      await said('Pause: without DASHBOARD_PASSWORD an action needs the token');
      await said('open the address with #token= that serve, run or demo printed');
      await page.locator('.actions code', { hasText: 'npx tidemark pause' }).waitFor();
      await expectAccessible(page, 'a refused action');

      // In the same tab, where only the hash changes.
      await page.goto(`${address}#token=${token}`);
      await page.waitForURL(address);
      await page.getByText('Track a series').click();
      for (const [name, value] of [
        ['exchange', 'binance'],
        ['base', 'bitcoin'],
        ['quote', 'tether'],
        ['from', '2024-03-01'],
        ['to (optional)', '2024-03-20'],
        ['source (optional)', 'default'],
      ] as const)
        await page.getByLabel(name, { exact: true }).fill(value);
      await press('Show the cost');
      await said(/^[\d,]+ requests, .+ points, [\d,]+ MB/);
      await expectAccessible(page, 'the cost of tracking');
      await press('Track');
      await said('tracking binance bitcoin/tether h1 from 2024-03-01 to 2024-03-20');
      await page.locator('.series').getByText('binance bitcoin/tether h1').waitFor();

      for (const [name, value] of [
        ['exchange', ''],
        ['base', ''],
        ['quote', ''],
        ['symbol (optional)', 'BTC/USDT'],
        ['source (optional)', 'nowhere'],
      ] as const)
        await page.getByLabel(name, { exact: true }).fill(value);
      await press('Show the cost');
      await said(/no source is named "nowhere"/);
      // At a terminal it would be refused too.
      expect(await page.getByText('npx tidemark track candles --interval').count()).toBe(0);

      isAccepted = false;
      await press('Pause');
      isAccepted = true;
      // A double click asks once. What is not answered yet stays beside what is.
      const allow = await holdBack(page, '**/actions/retry');
      await page.getByRole('button', { name: 'Retry all now' }).dblclick();
      await said('Retry all now: requested.');
      await press('Pause');
      await said('Pause: paused');
      await said('Retry all now: requested.');
      allow();
      await said(/^Retry all now: nothing to retry: no range waits for its next attempt\. \d\d:\d\d:\d\dZ$/);
      expect(asked.filter((path) => path.endsWith('/actions/retry'))).toHaveLength(1);
      await page.locator('#sources ~ details summary', { hasText: 'default: ' }).click();
      await page.getByLabel('requests a minute').fill('30');
      await press('Change the budget of default');
      await said('Change the budget of default: the budget of default is 30 a minute');
      await page.getByLabel('requests a minute').fill('30 a minute');
      await press('Change the budget of default');
      await said('Change the budget of default: give a whole number of requests a minute, from 1 to 1,000,000.');
      expect(asked.filter((path) => path.endsWith('/actions/budget'))).toHaveLength(1);
      await press('Reset the budget of default');
      await press('Pause default');
      await said('Pause default: the source is paused');
      await press('Resume default');
      await said('Resume default: the source is resumed');
      await said('It has refused no request in the ledger.');
      await expectAccessible(page, 'the orders for a source');
      // No worker is connected either.
      await page.locator('.state', { hasText: 'Requests are paused' }).waitFor();
    },
    2 * processesMs,
  );

  it(
    'asks once for a cost without the token, and shows the commands that tell it; asks again for others that are chosen meanwhile',
    async () => {
      const { address, token, env, service } = await openServing();
      const names = ['--exchange', 'binance', '--base', 'bitcoin', '--quote', 'tether', '--interval', 'h1,h4,d1'];
      await tidemark(['track', 'candles', ...names, '--from', '2024-03-01', '--to', '2024-04-01'], env);
      const stranger = await open(`${address}?find=tether`);
      const costs = (asked: readonly string[]) => asked.filter((path) => path.endsWith('/cost')).length;
      await stranger.page.getByText('Act on these 3 series').click();
      await stranger.page
        .getByText(
          'Without the token the page cannot ask for the cost. These commands say it before their first request',
        )
        .waitFor();
      for (const command of ['retry', 'verify', 'repair'])
        await stranger.page.locator('code', { hasText: `npx tidemark ${command} 1 2 3` }).waitFor();
      await expectAccessible(stranger.page, 'actions without the token');
      await stranger.page.getByLabel('Find').fill('h1');
      await stranger.page.getByText('Act on this series').waitFor();
      await stranger.page.locator('code', { hasText: /^npx tidemark retry \d$/ }).waitFor();
      expect(costs(stranger.asked)).toBe(1);
      expect(`${service.stdout()}${service.stderr()}`).not.toContain('an action was refused');

      const { page } = await open(`${address}#token=${token}`);
      await page.goto(`${address}?find=tether`);
      const asked: string[] = [];
      page.on('request', (request) => {
        if (request.url().endsWith('/verify/cost')) asked.push(request.postData() ?? '');
      });
      const allow = await holdBack(page, '**/retry/cost');
      const isHeld = page.waitForRequest('**/retry/cost');
      await page.getByText('Act on these 3 series').click();
      await isHeld;
      await page.getByLabel('Find').fill('h1');
      await page.getByText('Act on this series').waitFor();
      allow();
      const one = page.getByRole('group', { name: 'Actions on the series shown' });
      await one.getByText('Retry nothing waits for a later attempt').waitFor();
      await expect.poll(() => asked.map((body) => JSON.parse(body).series.length)).toEqual([1]);
    },
    2 * processesMs,
  );

  it(
    'cancels a backfill, and leaves the focus in the list that it was in',
    async () => {
      const { address, token, env } = await openServing();
      const names = (interval: string) => [
        '--exchange',
        'binance',
        '--base',
        'bitcoin',
        '--quote',
        'tether',
        '--interval',
        interval,
      ];
      const range = ['--from', '2024-03-01', '--to', '2024-04-01'];
      for (const interval of ['h1', 'd1']) await tidemark(['track', 'candles', ...names(interval), ...range], env);
      const { page } = await open(`${address}#token=${token}`);
      await page.goto(`${address}?view=backfills`);
      page.on('dialog', (dialog) => void dialog.accept());
      const button = (id: number) => page.getByRole('button', { name: `Cancel ${id}`, exact: true });
      await button(1).waitFor();
      await button(2).focus();
      await page.keyboard.press('Enter');
      await button(2).waitFor({ state: 'detached' });
      await page.getByText(/^cancelled by /).waitFor();
      await page.locator('section:focus', { has: page.getByRole('heading', { name: 'Going on' }) }).waitFor();
      expect(await button(1).count()).toBe(1);
      await expectAccessible(page, 'a cancelled backfill');
    },
    2 * processesMs,
  );

  it(
    'acts on a range in front of the reader after its cost',
    async () => {
      const { address, token, env, simulator } = await openServing({}, 'run');
      const names = ['--exchange', 'binance', '--base', 'bitcoin', '--quote', 'tether', '--interval', 'h1'];
      await tidemark(['backfill', 'candles', ...names, '--from', '2024-03-01', '--to', '2024-04-01'], env);
      const { page } = await open(`${address}#token=${token}`);
      await page.goto(`${address}?series=1`);
      await page.getByText('Act on this series').click();
      const ofSeries = page.getByRole('group', { name: 'Actions on the series' });
      await ofSeries.getByText(/^Verify a sample \d+ requests? to the source, /).waitFor();
      await ofSeries.getByText('Retry now nothing waits for a later attempt').waitFor();
      await ofSeries.getByText('Repair differences no difference is known').waitFor();
      await expectAccessible(page, 'actions on a series');
      await page.goto(`${address}?series=1&since=2024-03-06&until=2024-03-08`);
      const chosen = page.getByRole('region', { name: 'Chosen range' });
      await chosen.getByText('100 % covered').waitFor();
      const actions = chosen.getByRole('group', { name: 'Actions on the range' });
      await actions.getByText("Verify 1 request to the source, 0.017 % of a minute's budget, about 1 s").waitFor();
      await actions.getByText('Retry nothing waits for a later attempt').waitFor();
      await chosen.getByRole('button', { name: 'Verify', exact: true }).click();
      await chosen.getByText('Verify: compared 1 of 1 covered window: nothing differs.').waitFor();
      // A difference that was found has its cost, and none once it is repaired.
      await actions.getByText('Repair no difference is known').waitFor();
      const timeMs = Date.UTC(2024, 2, 7);
      simulator.revise({ series: bitcoinHours, timeMs, fromMs: 0, values: { volume: decimalText('7.25') } });
      await chosen.getByRole('button', { name: 'Verify', exact: true }).click();
      await chosen.getByText('Verify: compared 1 of 1 covered window: 1 point differ').waitFor();
      await actions.getByText(/^Repair 1 request to the source, /).waitFor();
      await chosen.getByRole('button', { name: 'Repair', exact: true }).click();
      await chosen.getByText('Repair: requested 1 window with differences again').waitFor();
      await actions.getByText('Repair no difference is known').waitFor();
      // Also of one that somebody else finds, and repairs.
      simulator.revise({ series: bitcoinHours, timeMs, fromMs: 0, values: { volume: decimalText('7.5') } });
      expect(await tidemark(['verify', '1', '--all'], env)).toMatchObject({ exitCode: 7 });
      await actions.getByText(/^Repair 1 request to the source, /).waitFor();
      expect(await tidemark(['repair', '1'], env)).toMatchObject({ exitCode: 0 });
      await actions.getByText('Repair no difference is known').waitFor();
      // Its own source is not one of those to compare with.
      const other = chosen.getByLabel('Another source');
      expect(await other.inputValue()).toBe('');
      expect(await other.getByRole('option').allTextContents()).toEqual(expect.arrayContaining(['choose one', 'okx']));
      await other.selectOption('okx');
      await chosen.getByRole('button', { name: 'Verify against okx' }).waitFor();

      // The same of all series that the list shows: one result.
      await tidemark(
        ['track', 'candles', ...names.slice(0, -1), 'd1,h4', '--from', '2024-03-01', '--to', '2024-04-01'],
        env,
      );
      await page.goto(`${address}?find=tether`);
      await page.getByText('Act on these 3 series').click();
      const many = page.getByRole('group', { name: 'Actions on the series shown' });
      await many.getByText(/^Verify a sample \d+ requests to the source, /).waitFor();
      await expectAccessible(page, 'actions on many');
      page.on('dialog', (dialog) => void dialog.accept());
      await many.getByRole('button', { name: 'Untrack' }).click();
      await page
        .getByText(
          /^Untrack: no longer tracking (?:binance bitcoin\/tether (?:h1|h4|d1)(?:, )?){3}; stored points stay\. [\d:]{8}Z$/,
        )
        .waitFor();
      await page.getByText('No series to act on').waitFor();
    },
    2 * processesMs,
  );
});

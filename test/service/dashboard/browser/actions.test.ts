/** Actions of the page, with the service of the command line. */

import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../../simulator/start.ts';
import { describeNeeding } from '../../../parts/describe-needing.ts';
import { createMigratedDatabase } from '../../../parts/test-database.ts';
import { waitFor } from '../../../parts/wait-for.ts';
import { processesMs, start, tidemark } from '../../../scripts/command.ts';
import { expectAccessible } from './accessible.ts';
import { holdBack, open, withBrowser } from './browser.ts';

describeNeeding('chromium', 'actions in a browser', () => {
  withBrowser();

  async function serving(more: Record<string, string> = {}) {
    const { url, drop } = await createMigratedDatabase();
    onTestFinished(drop);
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const env = { DATABASE_URL: url, SOURCE_URL: simulator.url, RATES_SECONDS: '0', ...more };
    const service = start(['serve'], env);
    await waitFor('the dashboard', () => /dashboard at http:\S+\/;/.test(service.stdout()));
    const [, address = ''] = /dashboard at (http:\S+\/);/.exec(service.stdout()) ?? [];
    if (more.DASHBOARD_PASSWORD === undefined)
      await waitFor('the token', () => /#token=\S+\n/.test(service.stdout()));
    const [withToken = address] = /http:\S+#token=\S+/.exec(service.stdout()) ?? [];
    return { env, address, withToken };
  }

  const statusLine = async (env: Record<string, string>) =>
    (await tidemark(['status'], env)).stdout.split('\n')[0];

  it(
    'tracks a market after its cost, pauses, resumes and untracks, with the token of the address',
    async () => {
      const { env, withToken } = await serving();
      const { page } = await open(withToken);
      await page.getByText('Begin here').waitFor();
      expect(new URL(page.url()).hash).toBe('');
      await page.getByText('Track a market').click();
      for (const [name, value] of [
        ['exchange', 'binance'],
        ['base', 'bitcoin'],
        ['quote', 'tether'],
        ['from', '2024-03-01'],
      ] as const)
        await page.getByLabel(name, { exact: true }).fill(value);
      await page.getByRole('button', { name: 'Show the cost' }).click();
      await page.getByText(/^[\d,]+ requests, .+ points, [\d,]+ MB/).waitFor();
      expect(await statusLine(env)).toMatch(/^nothing is tracked/);
      await expectAccessible(page, 'the cost of tracking');
      // The cost is that of the fields as they were.
      await page.getByLabel('from', { exact: true }).fill('2024-03-02');
      await page.getByRole('button', { name: 'Track', exact: true }).waitFor({ state: 'detached' });
      expect(await page.getByText(/^[\d,]+ requests, .+ points, [\d,]+ MB/).count()).toBe(0);
      await page.getByLabel('from', { exact: true }).fill('2024-03-01');
      await page.getByRole('button', { name: 'Show the cost' }).click();
      await page.getByRole('button', { name: 'Track', exact: true }).click();
      await page.getByText('tracking binance bitcoin/tether h1 from 2024-03-01').waitFor();
      await page.locator('.series').getByText('binance bitcoin/tether h1').waitFor();

      page.on('dialog', (dialog) => void dialog.accept());
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Pause: paused').waitFor();
      // No worker is connected either.
      await page.locator('.state', { hasText: 'Requests are paused' }).waitFor();
      expect((await tidemark(['status'], env)).stdout).toMatch(
        /requests are paused since .* by 127\.0\.0\.1/,
      );
      // The token stays for the tab.
      await page.reload();
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByText('Resume: resumed').waitFor();

      await page.locator('.series').getByText('binance bitcoin/tether h1').click();
      await page.getByRole('button', { name: 'Retry now' }).click();
      await page.getByText('Retry now: 0 ranges').waitFor();
      await expectAccessible(page, 'the actions of a series');
      await page.getByRole('button', { name: 'Untrack' }).click();
      await page.getByText('Not asked for any more since').waitFor();
      // The result stays, although nothing can be done any more.
      await page.getByText('Untrack: no longer tracking').waitFor();
      await expectAccessible(page, 'an untracked series');
      expect(await page.getByRole('button', { name: 'Untrack' }).count()).toBe(0);
      expect(await page.getByText('No period has closed yet.').count()).toBe(0);
      expect(await statusLine(env)).toMatch(/^nothing is tracked/);

      await page.getByRole('link', { name: 'Problems' }).click();
      const table = page.locator('section', { has: page.getByRole('heading', { name: 'Actions' }) });
      await table.getByText('done: tracking binance').waitFor();
      expect(await table.locator('tbody tr').count()).toBe(5);
      await expectAccessible(page, 'the list of actions');
    },
    processesMs,
  );

  it(
    'shows the command where it has no token, and does nothing',
    async () => {
      const { env, address } = await serving();
      const { page } = await open(address);
      page.on('dialog', (dialog) => void dialog.accept());
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Pause: without DASHBOARD_PASSWORD an action needs the token').waitFor();
      await page.getByText('open the address with #token= that serve, run or demo printed').waitFor();
      await page.locator('.actions code', { hasText: 'npx tidemark pause' }).waitFor();
      await expectAccessible(page, 'a refused action');
      expect(await statusLine(env)).toMatch(/^nothing is tracked/);
    },
    processesMs,
  );

  it(
    'acts once the address with the token is opened in the same tab',
    async () => {
      const { address, withToken } = await serving();
      const { page } = await open(address);
      page.on('dialog', (dialog) => void dialog.accept());
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Pause: without DASHBOARD_PASSWORD').waitFor();
      await page.goto(withToken);
      await page.waitForURL(address);
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Pause: paused').waitFor();
    },
    processesMs,
  );

  it(
    'pauses while another action is not answered, and says what became of both',
    async () => {
      const { withToken } = await serving();
      const { page, asked } = await open(withToken);
      const allow = await holdBack(page, '**/actions/retry');
      page.on('dialog', (dialog) => void dialog.accept());
      const retry = page.getByRole('button', { name: 'Retry all now' });
      await retry.click();
      await page.getByText('Retry all now: requested.').waitFor();
      await retry.click();
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByText('Pause: paused').waitFor();
      await page.getByText('Retry all now: requested.').waitFor();
      allow();
      await page.getByText('Retry all now: 0 ranges').waitFor();
      expect(await page.getByText('Pause: paused').count()).toBe(1);
      expect(asked.filter((path) => path.endsWith('/actions/retry'))).toHaveLength(1);
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByText('Resume: resumed').waitFor();
      expect(await page.getByText('Retry all now: 0 ranges').count()).toBe(0);
    },
    processesMs,
  );

  it(
    'shows commands that the command line runs',
    async () => {
      const { env, address } = await serving({ SOURCE_REQUESTS_PER_MINUTE: '6000' });
      const { page } = await open(address);
      page.on('dialog', (dialog) => void dialog.accept());
      await page.getByText('Begin here').waitFor();
      const steps = await page.locator('.steps code').allTextContents();
      expect(steps).toHaveLength(3);
      for (const step of steps) await succeeds(step, env);
      await page.locator('.series').getByText('binance bitcoin/tether h1').waitFor();

      /** The commands of the buttons in the group, of which the page may use none. */
      async function commandsOf(group: string): Promise<string[]> {
        const bar = page.locator('.actions', { has: page.getByRole('group', { name: group, exact: true }) });
        const commands: string[] = [];
        await bar.waitFor();
        for (const button of await bar.getByRole('group').getByRole('button').all()) {
          await button.click();
          await bar.getByText(`${await button.textContent()}: without DASHBOARD_PASSWORD`).waitFor();
          commands.push((await bar.locator('code').textContent()) ?? '');
        }
        return commands;
      }
      const common = await commandsOf('All series');
      await page.locator('.series').getByText('binance bitcoin/tether h1').click();
      const own = await commandsOf('Actions');
      expect(common.length + own.length).toBeGreaterThanOrEqual(7);
      for (const command of [...common, ...own]) await succeeds(command, env);
    },
    processesMs,
  );

  async function succeeds(command: string, env: Record<string, string>): Promise<void> {
    const [npx, program, ...words] = command.split(' ');
    expect([npx, program]).toEqual(['npx', 'tidemark']);
    const { exitCode, stderr } = await tidemark(words, env);
    expect([command, exitCode, stderr]).toEqual([command, 0, stderr]);
  }

  it(
    'acts with the password, which the browser adds',
    async () => {
      const password = 'correct horse battery';
      const { env, address } = await serving({ DASHBOARD_PASSWORD: password });
      const { page } = await open(address, { httpCredentials: { username: 'ann', password } });
      page.on('dialog', (dialog) => void dialog.dismiss());
      await page.getByRole('button', { name: 'Pause' }).click();
      // Twice, which asks once.
      await page.getByRole('button', { name: 'Retry all now' }).dblclick();
      await page.getByText('Retry all now: 0 ranges').waitFor();
      // What was asked first was declined.
      expect(await statusLine(env)).toMatch(/^nothing is tracked/);
      await page.getByRole('link', { name: 'Problems' }).click();
      await page.getByText('ann at 127.0.0.1').waitFor();
      expect(await page.getByText('ann at 127.0.0.1').count()).toBe(1);
    },
    processesMs,
  );
});

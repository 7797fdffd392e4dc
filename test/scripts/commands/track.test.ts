import { expect, it, onTestFinished } from 'vitest';
import { createMigratedDatabase } from '../../parts/test-database.ts';
import { tidemark } from '../command.ts';

it('a name means the series that is spelled so, and is refused where only case tells two apart', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url };
  for (const asset of ['BTC', 'btc'])
    await tidemark(['track', 'history', '--asset', asset, '--interval', 'd1', '--from', '2024-02-01'], env);
  expect((await tidemark(['untrack', 'btc d1'], env)).stdout).toContain('no longer tracking btc d1');
  expect((await tidemark(['why', 'BTC', 'd1'], env)).stdout).toMatch(/^BTC d1, id 1\n/);
  expect(await tidemark(['why', 'Btc d1'], env)).toMatchObject({
    exitCode: 2,
    stderr:
      'tidemark: BAD_ARGUMENT: several series are named "Btc d1" but for case; did you mean "BTC d1" or "btc d1"?\n',
  });
});

it('track shows the whole tracked range, and status shows it in full in a pipe', async () => {
  const { url, drop } = await createMigratedDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url };
  const asset = 'a'.repeat(180);
  const track = (...words: string[]) =>
    tidemark(['track', 'history', '--asset', asset, '--interval', 'd1', ...words], env);
  const name = `${asset} d1`;

  const first = await track('--from', '2024-02-01', '--to', '2024-03-01');
  expect(first).toMatchObject({
    exitCode: 0,
    stderr: '',
    stdout: `tracking ${name} from 2024-02-01 to 2024-03-01 (id 1)\n`,
  });
  const inside = await track('--from', '2024-02-10', '--to', '2024-02-11');
  expect(inside.stdout).toBe(
    `already tracked, range unchanged: ${name} from 2024-02-01 to 2024-03-01 (id 1)\n`,
  );
  const wider = await track('--from', '2024-02-10');
  expect(wider.stdout).toBe(`already tracked, range extended: ${name} from 2024-02-01 onward (id 1)\n`);

  const status = await tidemark(['status'], env);
  expect(status.stdout).toContain(` ${name}  2024-02-01 `);
  const untracked = await tidemark(['untrack', asset.toUpperCase(), 'd1'], env);
  expect(untracked.stdout).toBe(`no longer tracking ${name}; stored points stay\n`);
  expect((await tidemark(['untrack', '1', `${name}`], env)).stdout).toMatch(
    / was untracked before, at 20.*; stored points stay\n$/,
  );
  const again = await track('--from', '2024-02-10', '--json');
  expect(JSON.parse(again.stdout)).toEqual({
    seriesId: 1,
    dataset: 'asset_history',
    assetId: asset,
    interval: 'd1',
    created: false,
    change: 'resumed',
    tracked: { from: '2024-02-10T00:00:00.000Z', to: null },
  });
});

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { dayMs, hourMs } from '../../model/intervals.ts';
import { seriesName } from '../../model/series.ts';
import { keepWatchList } from '../../scheduler/watch-list-keeper.ts';
import { openPages } from '../../store/lists/polls.ts';
import { storeMarkets } from '../../store/series/sources.ts';
import { readKnownSeries } from '../../store/settings/series-changes.ts';
import { readSetting, readUnlisted, readWaiting } from '../../store/settings/settings.ts';
import { writeRetention } from '../../store/upkeep/retention.ts';
import { emptyDirectory } from '../scripts/command.ts';
import { givenBy } from '../sources/source-facts.ts';
import { answerPage, assetOf, onlyPage } from '../store/lists/polling.ts';
import { openOwnStore } from '../store/open-store.ts';

const startMs = Date.UTC(2026, 10, 20, 12);

/** @param exchanges of sources, by name. */
async function openKeeper(exchanges: Readonly<Record<string, string>> = {}) {
  let workers = 0;
  const { database } = await openOwnStore();
  const file = join(emptyDirectory(), 'tidemark.yaml');
  const lines: string[] = [];
  const keeper = () =>
    keepWatchList({
      database,
      file,
      countWorkers: async () => workers,
      readSources: async () =>
        new Map(
          Object.entries(exchanges).map(([name, exchange]) => [
            name,
            { exchange, isArchive: false, ...givenBy({ candles: ['h1', 'd1'] }), archive: null },
          ]),
        ),
      log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) }),
    });
  const tracked = async () =>
    (await readKnownSeries.on(database.pool, {})).flatMap(({ series, isTracked }) =>
      isTracked && series.dataset === 'asset_history' ? [series.assetId] : [],
    );
  const answer = async (nowMs: number, ...assets: string[]) => {
    const rows = assets.map((name, index) => assetOf(name, index + 1));
    await answerPage(database, await onlyPage(database), rows, { timeMs: nowMs });
    await answerPage(database, await onlyPage(database), [], { timeMs: nowMs });
  };
  const begin = () => {
    workers = 1;
  };
  const write = (text: string) => writeFileSync(file, text);
  const remove = () => rmSync(file);
  return { database, begin, keeper, write, remove, lines, tracked, answer };
}

test('applies the rest when the list selects by rank, waits for a poll, keeps the selection for a day, and series that drop out', async () => {
  const { database, begin, keeper, write, lines, tracked, answer } = await openKeeper();
  const look = keeper();
  await look(startMs);
  write('history: [{ top: 2, interval: d1, from: 2026-01-01 }, { asset: dash, interval: d1, from: 2026-01-01 }]');
  await look(startMs);
  expect(lines).toEqual([]); // The file may still be incomplete.
  await look(startMs);
  await look(startMs + 1000);
  const leftOut = 'tidemark.yaml:1:11: left out until the list of assets is polled: ';
  expect(lines.splice(0)).toEqual([
    expect.stringContaining(`${leftOut}no worker has SOURCE_URL`),
    'the watch list was applied',
  ]);
  begin();
  await look(startMs + 1001);
  await look(startMs + 1002);
  expect(lines.splice(0)).toEqual([
    expect.stringContaining(`${leftOut}SOURCE_URL gives it`),
    'the watch list is applied: nothing changed',
  ]);
  expect(await tracked()).toEqual(['dash']);
  expect(await readWaiting(database)).toEqual([expect.stringContaining(leftOut)]);
  expect(await openPages(database)).toMatchObject([{ list: { dataset: 'assets' }, firstRow: 0 }]);
  await answer(startMs, 'bitcoin', 'ethereum', 'tether', 'dash');
  await look(startMs + 2000);
  expect(lines.splice(0)).toEqual(['the watch list was applied']);
  expect(await tracked()).toEqual(['bitcoin', 'dash', 'ethereum']);
  expect(await readWaiting(database)).toEqual([]);

  // Within a day the selection is not resolved again. After it the list is too old, so it is polled first.
  await look(startMs + 2000 + dayMs - 1);
  expect(lines).toEqual([]);
  const nextMs = startMs + 2000 + dayMs;
  await look(nextMs);
  await answer(nextMs, 'bitcoin', 'tether', 'ethereum', 'dash');
  await look(nextMs);
  expect(lines.splice(0).slice(1)).toEqual([
    'the watch list is applied: nothing changed',
    'the watch list was applied',
  ]);
  expect(await tracked()).toEqual(['bitcoin', 'dash', 'ethereum', 'tether']);

  // Another new process has nothing to do. Nor has this one when only the end of the text differs.
  const other = keeper();
  await other(nextMs + hourMs);
  await other(nextMs + hourMs);
  expect(lines).toEqual([]);
  write('history: [{ top: 2, interval: d1, from: 2026-01-01 }]\n');
  await look(nextMs + hourMs);
  await look(nextMs + hourMs);
  expect(lines).toEqual(['the watch list is applied: nothing changed']);
});

test('logs each error once, also of a change that fails; a deleted file changes nothing', async () => {
  const { database, keeper, write, lines, tracked } = await openKeeper();
  const look = keeper();
  write('history: [{ asset: bitcoin, interval: d1, from: 2026-01-01 }]');
  await look(startMs);
  await look(startMs);
  expect(await tracked()).toEqual(['bitcoin']);
  write('history: [{ asset: bitcoin }]');
  for (let times = 0; times < 4; times += 1) await look(startMs);
  expect(lines.filter((line) => line.includes('is invalid'))).toHaveLength(1);
  expect(await tracked()).toEqual(['bitcoin']);
  write('history: [{ asset: bitcoin, interval: d1, from: 2026-01-01 }]');
  for (let times = 0; times < 4; times += 1) await look(startMs);
  expect(lines.at(-1)).toBe('the watch list is valid again, and unchanged');
  write('history: [{ asset: bitcoin }]');
  for (let times = 0; times < 4; times += 1) await look(startMs);
  lines.splice(0);
  // The file is corrected while the database rejects changes.
  await database.pool.query('alter table tidemark.settings rename to gone');
  write('history: [{ asset: tether, interval: d1, from: 2026-01-01 }]');
  for (let times = 0; times < 4; times += 1) await look(startMs);
  expect(lines.filter((line) => line.includes('could not be applied'))).toHaveLength(1);
  await database.pool.query('alter table tidemark.gone rename to settings');
  await look(startMs);
  expect(await tracked()).toEqual(['bitcoin', 'tether']);
});

test('records that the list is invalid, since when and why, until it is valid again or gone', async () => {
  const { database, keeper, write, remove } = await openKeeper();
  const invalid = () => readSetting(database.pool, 'watch_list.invalid');
  const valid = 'history: [{ asset: bitcoin, interval: d1, from: 2026-01-01 }]';
  const look = keeper();
  const settle = async (nowMs: number, check = look) => {
    await check(nowMs);
    await check(nowMs);
  };
  write(valid);
  await settle(startMs);
  expect(await invalid()).toBeNull();
  const wrong = 'history: [{ asset: bitcoin, interval: h7, from: 2026-01-01 }]';
  write(wrong);
  await settle(startMs + 1);
  const why = expect.stringMatching(/tidemark\.yaml:1:\d+: interval /);
  expect(await invalid()).toEqual({ sinceMs: startMs + 1, why });
  // Another mistake, and another process, keep the time.
  write('history: [{ interval: d1 }]');
  await settle(startMs + 2);
  expect(await invalid()).toMatchObject({ sinceMs: startMs + 1, why: expect.not.stringContaining('interval') });
  write(wrong);
  const other = keeper();
  await settle(startMs + 3, other);
  await settle(startMs + 3);
  expect(await invalid()).toEqual({ sinceMs: startMs + 1, why });
  // Each of them may see the end, and the same mistake again.
  write(valid);
  await settle(startMs + 4, other);
  expect(await invalid()).toBeNull();
  write(wrong);
  await settle(startMs + 5, other);
  expect(await invalid()).toEqual({ sinceMs: startMs + 5, why });
  write(`${valid}\n`);
  await settle(startMs + 6);
  expect(await invalid()).toBeNull();
  write(wrong);
  await settle(startMs + 7);
  remove();
  await settle(startMs + 8);
  expect(await invalid()).toBeNull();
});

test('holds back a retention that would drop stored points until it is confirmed, and applies the rest', async () => {
  const { database, keeper, write, lines, tracked } = await openKeeper();
  const look = keeper();
  write('history: [{ asset: bitcoin, interval: d1, from: 2024-01-01 }]');
  await look(startMs);
  await look(startMs);
  await database.pool.query(`update tidemark.series set earliest = '2024-01-01Z'`);
  await writeRetention(database.pool, 'asset_history', '5y');
  write('history: [{ asset: tether, interval: d1, from: 2024-01-01 }]\nretention: { history: 1y, candles: 2y }');
  await look(startMs);
  await look(startMs);
  expect(lines.filter((line) => line.includes('run `tidemark apply --confirm`'))).toHaveLength(1);
  expect(await tracked()).toEqual(['bitcoin', 'tether']);
  const kept = await database.pool.query(
    `select name, value from tidemark.settings where name like 'retention.%' order by name`,
  );
  expect(kept.rows).toEqual([
    { name: 'retention.asset_history', value: '5y' },
    { name: 'retention.candles', value: '2y' },
  ]);
});

test('leaves out the markets of a source until they are listed, and applies the rest', async () => {
  const { database, keeper, write, lines } = await openKeeper({
    mirror: 'binance',
    binance: 'binance',
    bybit: 'bybit',
  });
  const series = async () =>
    (await readKnownSeries.on(database.pool, {})).map(({ series, isTracked }) => [seriesName(series), isTracked]);
  const bitcoin = { symbol: 'BTCUSDT', base: 'BTC', quote: 'USDT', listedMs: null, isTrading: true, contract: null };
  for (const source of ['binance', 'bybit']) await storeMarkets(database, source, [bitcoin], startMs);
  write(`candles:
  - { source: [mirror, binance], symbol: BTC/USDT, interval: h1, from: 2026-01-01 }
  - { source: mirror, symbol: BTC/USDT, interval: d1, from: 2026-01-01 }
  - { source: bybit, symbol: BTC/USDT, interval: h1, from: 2026-01-01 }
`);
  const look = keeper();
  for (const afterMs of [0, 1, 2, 3]) await look(startMs + afterMs);
  const leftOut = (line: number) => expect.stringContaining(`:${line}:5: mirror is left out until a worker or `);
  expect(lines.splice(0)).toEqual([leftOut(2), leftOut(3), 'the watch list was applied']);
  expect(await readUnlisted(database)).toEqual(['mirror']);
  expect(await series()).toEqual([
    ['binance BTC/USDT h1', true],
    ['bybit BTC/USDT h1', true],
  ]);

  await storeMarkets(database, 'mirror', [bitcoin], startMs);
  for (const afterMs of [4, 5]) await look(startMs + afterMs);
  expect(lines).toEqual(['the watch list was applied']);
  expect(await readUnlisted(database)).toEqual([]);
  expect(await series()).toContainEqual(['binance BTC/USDT d1', true]);
});

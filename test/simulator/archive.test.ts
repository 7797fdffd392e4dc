import { createHash } from 'node:crypto';
import { unzipSync } from 'fflate';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hourMs } from '../../contract/intervals.ts';
import { startVenueSimulator } from '../../simulator/venues/start.ts';
import { clockAt } from '../parts/test-clock.ts';
import { candleSeries } from './exact.ts';

const series = candleSeries('binance bitcoin/tether', 'h1');

async function open(options: { badFileRate?: number; nowMs?: number } = {}) {
  const { badFileRate = 0, nowMs = Date.UTC(2025, 5, 10) } = options;
  const archive = await startVenueSimulator({
    profile: 'binance-archive',
    clock: clockAt(() => nowMs),
    faults: { badFileRate },
  });
  onTestFinished(() => archive.close());
  const get = async (path: string) => {
    const response = await fetch(`${archive.url}/data/spot/${path}`);
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
  };
  const month = (name: string, suffix = '') =>
    get(`monthly/klines/BTCUSDT/1h/BTCUSDT-1h-${name}.zip${suffix}`);
  return { archive, get, month };
}

function linesOf(zip: Buffer): string[] {
  const [[name, csv] = []] = Object.entries(unzipSync(zip));
  expect(name).toMatch(/\.csv$/);
  return Buffer.from(csv ?? [])
    .toString()
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('open_time'));
}

describe.each([
  ['2024-05', Date.UTC(2024, 4, 1), Date.UTC(2024, 5, 1), 1],
  ['2025-01', Date.UTC(2025, 0, 1), Date.UTC(2025, 1, 1), 1000],
])('the file of %s', (name, startMs, endMs, unit) => {
  test('equals the truth, in its unit of time, and its checksum', async () => {
    const { archive, month } = await open();
    const { status, body } = await month(name);
    expect(status).toBe(200);
    const truth = archive.truth.candles(series, { startMs, endMs });
    expect(linesOf(body).map((line) => line.split(',').slice(0, 7).join())).toEqual(
      truth.map(({ period, open, high, low, close, volume }) =>
        [period * unit, open, high, low, close, volume, (period + hourMs) * unit - 1].join(),
      ),
    );
    const sum = createHash('sha256').update(body).digest('hex');
    expect((await month(name, '.CHECKSUM')).body.toString()).toBe(`${sum}  BTCUSDT-1h-${name}.zip\n`);
    // The same file again.
    expect((await month(name)).body.equals(body)).toBe(true);
  });
});

test('has files of days, and none that is not over yet or unknown', async () => {
  const { get, month } = await open({ nowMs: Date.UTC(2025, 5, 3, 12) });
  expect(await get('daily/klines/BTCUSDT/1h/BTCUSDT-1h-2025-06-01.zip')).toMatchObject({ status: 200 });
  expect(await get('daily/klines/BTCUSDT/1h/BTCUSDT-1h-2025-06-02.zip')).toMatchObject({ status: 404 });
  // A month is there three days later.
  expect(await month('2025-04')).toMatchObject({ status: 200 });
  expect(await month('2025-05')).toMatchObject({ status: 404 });
  expect(await month('2025-06')).toMatchObject({ status: 404 });
  expect((await get('monthly/klines/XYZUSDT/1h/XYZUSDT-1h-2024-05.zip')).body.toString()).toContain(
    'NoSuchKey',
  );
});

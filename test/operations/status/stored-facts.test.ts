import { expect, it } from 'vitest';
import { hourMs, minuteMs } from '../../../model/intervals.ts';
import { defaultSource } from '../../../model/sources.ts';
import { readStoredFacts } from '../../../operations/status/facts.ts';
import { stateOf } from '../../../planning/headline.ts';
import { readRegistry } from '../../../runtime/sources.ts';
import { readConfig } from '../../../settings/config.ts';
import { recordFetch } from '../../../store/ledger/ledger.ts';
import { trackSeries } from '../../../store/series/series.ts';
import { bitcoinHours } from '../../queue/queue-parts.ts';
import { openOwnStore } from '../../store/open-store.ts';

const noonMs = Date.UTC(2026, 0, 31, 12);

it('tells no time to go of what closed just now, by the pace of a backfill that was cancelled', async () => {
  const { database } = await openOwnStore();
  const config = readConfig({});
  const registry = await readRegistry(config);
  const context = { database, sources: async () => registry, config };
  const nowMs = noonMs + 2 * minuteMs;
  await trackSeries(database, bitcoinHours, noonMs - 100 * hourMs, null);
  for (let second = 1; second <= 120; second += 1)
    await recordFetch(database.pool, {
      ...{ timeMs: nowMs - second * 1000, dataset: 'candles', lane: 'backfill', attempt: 1, source: defaultSource },
      ...{ verdict: 'filled', status: 200, bytes: 0, durationMs: 1 },
    });
  const state = async () => {
    const stored = await readStoredFacts(context, nowMs);
    const queue = { source: defaultSource, workers: 1, pausedMs: 0, perMinute: 60, lowered: null };
    const tracked = { requests: 1, wantedMs: 1, coveredMs: 0 };
    return stateOf({ ...stored, nowMs, tracked, queue: { schedulers: 1, sources: [queue] } });
  };
  expect(await state()).toMatchObject({ left: 1, etaMs: 1000 });
  // All but the newest hour.
  await database.pool.query(
    `update tidemark.series set covered = tstzmultirange(tstzrange(lower(tracked), to_timestamp($1)))`,
    [(noonMs - hourMs) / 1000],
  );
  expect(await state()).toMatchObject({ left: 1, etaMs: null });
});

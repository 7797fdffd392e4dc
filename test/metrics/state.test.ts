import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../metrics/metrics.ts';
import { readAtMostEvery } from '../../metrics/reading.ts';
import { databaseAway, queueAway } from '../../planning/headline.ts';
import { clockAt } from '../parts/test-clock.ts';
import { waitFor } from '../parts/wait-for.ts';
import { anyState, someState, someStore } from './any-state.ts';

const times = { everyMs: 15_000, waitMs: 5000, oldestMs: 60_000 };

describe('readAtMostEvery', () => {
  it('reads once for simultaneous calls and not again before the interval', async () => {
    let nowMs = 0;
    let readings = 0;
    const ask = readAtMostEvery(async () => ++readings, times, { clock: clockAt(() => nowMs), onError: () => {} });
    const answers = await Promise.all([ask(), ask(), ask()]);
    expect(answers.map((answer) => answer?.value)).toEqual([1, 1, 1]);
    nowMs = 14_999;
    expect((await ask())?.value).toBe(1);
    nowMs = 15_000;
    expect((await ask())?.value).toBe(2);
  });

  it('returns the last value while readings fail, and null once it is too old', async () => {
    let nowMs = 0;
    let isAway = false;
    const errors: unknown[] = [];
    const read = async () => {
      if (isAway) throw new Error('away');
      return 'read';
    };
    const ask = readAtMostEvery(read, times, {
      clock: clockAt(() => nowMs),
      onError: (error) => void errors.push(error),
    });
    await ask();
    isAway = true;
    nowMs = 20_000;
    expect((await ask())?.value).toBe('read');
    nowMs = 60_000;
    expect(await ask()).toBeNull();
    expect(errors).toHaveLength(2);
    isAway = false;
    nowMs = 75_000;
    expect((await ask())?.value).toBe('read');
  });

  it('waits once for a reading that hangs, abandons it and starts another', async () => {
    let nowMs = 0;
    const answers: ((value: string) => void)[] = [];
    const errors: unknown[] = [];
    const hanging = () => new Promise<string>((resolve) => answers.push(resolve));
    const ask = readAtMostEvery(
      hanging,
      { ...times, waitMs: 1 },
      { clock: clockAt(() => nowMs), onError: (error) => void errors.push(error) },
    );
    expect([await ask(), await ask()]).toEqual([null, null]);
    nowMs = 59_999;
    expect(await ask()).toBeNull();
    expect([answers.length, errors.length]).toEqual([1, 0]);
    nowMs = 60_000;
    expect(await ask()).toBeNull();
    expect([answers.length, errors.length]).toEqual([2, 1]);
    // What was given up tells of a time long past.
    answers[0]?.('old');
    expect(await ask()).toBeNull();
    answers[1]?.('new');
    await waitFor('what was read', async () => (await ask())?.value === 'new');
    expect(errors).toHaveLength(1);
  });
});

describe('state metrics', () => {
  const values = (text: string) => new Map(text.split('\n').map((line) => line.split(/ (?=\S+$)/) as [string, string]));

  it('exports gap reasons without gaps as 0', async () => {
    const metrics = createMetrics({ command: 'scheduler', version: '1.2.3' });
    metrics.measureState(anyState());
    const of = values((await metrics.read()).text);
    expect(of.get('tidemark_gap_seconds{dataset="candles",interval="h1",reason="failed"}')).toBe('3600');
    expect(of.get('tidemark_gap_seconds{dataset="candles",interval="h1",reason="not_asked"}')).toBe('0');
    expect(of.get('tidemark_newest_age_seconds{dataset="rates",interval=""}')).toBe('12');
    expect(of.get('tidemark_budget_used_requests_per_minute{lane="poll"}')).toBe('3');
    expect(of.get('tidemark_queue_requests{lane="backfill"}')).toBe('4');
    expect(of.get('tidemark_source_last_success_timestamp_seconds')).toBe('1700000000');
    expect(of.get('tidemark_disk_free_bytes')).toBe('10');
  });

  it('exports nothing of a queue that is away, though it was read just before', async () => {
    let nowMs = 0;
    let state = someState;
    const metrics = createMetrics({ command: 'scheduler', version: '1.2.3' });
    metrics.measureState(anyState({ whole: async () => state, clock: clockAt(() => nowMs) }));
    const queueLines = async () =>
      [...values((await metrics.read()).text).keys()].filter((name) => /^tidemark_(queue_|budget_limit_)/.test(name));
    expect((await queueLines()).length).toBeGreaterThan(3);
    state = { ...someState, also: [queueAway('gone')] };
    nowMs = 15_000;
    expect(await queueLines()).toEqual([]);
    state = someState;
    nowMs = 30_000;
    expect((await queueLines()).length).toBeGreaterThan(3);
  });

  it('exports each condition by what it is now, what is left, and the ETA while it is known', async () => {
    let nowMs = 0;
    let state = someState;
    const metrics = createMetrics({ command: 'scheduler', version: '1.2.3' });
    metrics.measureState(anyState({ whole: async () => state, clock: clockAt(() => nowMs) }));
    const of = values((await metrics.read()).text);
    expect(of.get('tidemark_condition{kind="source_away",level="bad"}')).toBe('1');
    expect(of.get('tidemark_condition{kind="jobs_failing",level="ok"}')).toBe('1');
    expect(of.get('tidemark_condition{kind="jobs_failing",level="waiting"}')).toBe('0');
    expect(of.get('tidemark_condition{kind="healthy",level="ok"}')).toBe('0');
    expect([of.get('tidemark_wanted_seconds'), of.get('tidemark_covered_seconds')]).toEqual(['10', '4']);
    expect([of.get('tidemark_requests_left'), of.get('tidemark_eta_seconds')]).toEqual(['12', '90']);
    state = { ...someState, headline: databaseAway('gone'), also: [], left: 0, wantedMs: 0, coveredMs: 0, etaMs: null };
    nowMs = 15_000;
    const away = values((await metrics.read()).text);
    expect(away.get('tidemark_condition{kind="database_away",level="bad"}')).toBe('1');
    // Nobody knows.
    for (const name of ['requests_left', 'wanted_seconds', 'covered_seconds', 'eta_seconds'])
      expect(away.get(`tidemark_${name}`)).toBeUndefined();
    state = { ...someState, also: [], left: 0, etaMs: null };
    nowMs = 30_000;
    const later = values((await metrics.read()).text);
    expect(later.get('tidemark_condition{kind="jobs_failing",level="ok"}')).toBeUndefined();
    expect([later.get('tidemark_requests_left'), later.get('tidemark_eta_seconds')]).toEqual(['0', undefined]);
  });

  it('omits vanished labels and the metrics of an unavailable database or queue', async () => {
    let nowMs = 0;
    let store: () => Promise<typeof someStore> = async () => ({ ...someStore, disk: null });
    const metrics = createMetrics({ command: 'scheduler', version: '1.2.3' });
    metrics.measureState(anyState({ store: () => store(), clock: clockAt(() => nowMs) }));
    const whole = (await metrics.read()).text;
    expect(whole).toMatch(/^tidemark_lag_seconds\{/m);
    expect(whole).not.toMatch(/^tidemark_disk_free_bytes /m);
    store = async () => ({ ...someStore, intervals: [], gaps: [] });
    nowMs = 15_000;
    expect((await metrics.read()).text).not.toMatch(/^tidemark_(lag|gap)_seconds\{/m);
    store = () => Promise.reject(new Error('away'));
    nowMs = 90_000;
    const { text } = await metrics.read();
    expect(text).not.toMatch(/^tidemark_(database_size_bytes|source_failures_since_success|series)\b/m);
    expect(values(text).get('tidemark_state_read_failures_total{of="database"}')).toBe('1');
    expect(values(text).get('tidemark_queue_workers')).toBe('2');
  });
});

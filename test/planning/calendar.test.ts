import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type CountedRange, coverageByMonth } from '../../planning/calendar.ts';

const hour = 3_600_000;

it('counts each hour in its month, beside a count of the hours one by one', () => {
  const beginMs = Date.UTC(2019, 10, 28);
  const ranges = fc.array(
    fc
      .record({
        start: fc.integer({ min: 0, max: 9000 }),
        hours: fc.integer({ min: 1, max: 2500 }),
        series: fc.integer({ min: 1, max: 5 }),
      })
      .map(
        ({ start, hours, series }): CountedRange => ({
          startMs: beginMs + start * hour,
          endMs: beginMs + (start + hours) * hour,
          series,
        }),
      ),
    { minLength: 1, maxLength: 4 },
  );
  const byHours = (of: readonly CountedRange[]) => {
    const months = new Map<string, number>();
    for (const { startMs, endMs, series } of of)
      for (let at = startMs; at < endMs; at += hour) {
        const name = new Date(at).toISOString().slice(0, 7);
        months.set(name, (months.get(name) ?? 0) + hour * series);
      }
    return months;
  };
  fc.assert(
    fc.property(ranges, fc.array(fc.nat(10_000), { minLength: 24, maxLength: 24 }), (wanted, cuts) => {
      // A part of each, or nothing of it.
      const missing = wanted.flatMap(({ startMs, endMs, series }, place) => {
        const hours = (endMs - startMs) / hour;
        const [from = 0, to = 0] = [0, 1].map((of) => (cuts[place * 2 + of] ?? 0) % (hours + 1));
        return from < to ? [{ startMs: startMs + from * hour, endMs: startMs + to * hour, series }] : [];
      });
      const months = coverageByMonth({ wanted, missing, failed: missing.slice(0, 1), awaiting: [] });
      const [wantedHours, missingHours] = [byHours(wanted), byHours(missing)];
      const failedHours = byHours(missing.slice(0, 1));
      expect(months[0]?.startMs).toBe(Date.parse(`${[...wantedHours.keys()].sort()[0]}-01T00:00:00Z`));
      expect(months.reduce((sum, { wantedMs }) => sum + wantedMs, 0)).toBe(
        [...wantedHours.values()].reduce((sum, ms) => sum + ms, 0),
      );
      for (const { startMs, wantedMs, coveredMs, failed, awaiting } of months) {
        const name = new Date(startMs).toISOString().slice(0, 7);
        expect(wantedMs).toBe(wantedHours.get(name) ?? 0);
        expect(wantedMs - coveredMs).toBe(missingHours.get(name) ?? 0);
        expect(failed).toBe(failedHours.has(name));
        expect(awaiting).toBe(false);
      }
    }),
    { numRuns: 60 },
  );
  expect(coverageByMonth({ wanted: [], missing: [], failed: [], awaiting: [] })).toEqual([]);
});

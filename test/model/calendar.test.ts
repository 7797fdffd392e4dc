import { expect, it } from 'vitest';
import { coverageByMonth } from '../../model/calendar.ts';

const hour = 3_600_000;
const range = (from: string, to: string, series: number) => ({
  ...{ startMs: Date.parse(`2019-${from}Z`), endMs: Date.parse(`2019-${to}Z`), series },
});

it('counts each hour of each series in its month, beginning with the first', () => {
  const missing = [range('10-31T20:00', '11-01T06:00', 3), range('11-30T00:00', '12-01T00:00', 1)];
  const wanted = [range('10-31T12:00', '12-01T02:00', 3), range('11-30T00:00', '12-01T00:00', 1)];
  const months = coverageByMonth({
    wanted,
    missing,
    failed: missing.slice(0, 1),
    awaiting: missing.slice(1),
    silent: [range('12-01T00:00', '12-01T01:00', 1)],
  });
  const of = (month: string, wantedHours: number, coveredHours: number) => ({
    ...{ startMs: Date.parse(`2019-${month}-01T00:00Z`), wantedMs: wantedHours * hour, coveredMs: coveredHours * hour },
  });
  expect(months).toMatchObject([
    { ...of('10', 3 * 12, 3 * 8), failed: true, awaiting: false, silent: false },
    { ...of('11', 3 * 720 + 24, 3 * 714), failed: true, awaiting: true },
    { ...of('12', 3 * 2, 3 * 2), failed: false, awaiting: false, silent: true },
  ]);
  expect(coverageByMonth({ wanted: [], missing: [], failed: [], awaiting: [], silent: [] })).toEqual([]);
});

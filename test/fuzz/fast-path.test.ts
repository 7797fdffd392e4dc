import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { pointAt } from '../../model/point-lines.ts';
import { listAnswer, pointsAnswer } from '../../sources/answer.ts';
import { pointReader } from '../../sources/rows.ts';
import { scanPoints } from '../../sources/scan.ts';
import { SourceError } from '../../sources/source-error.ts';
import { seededTimeoutMs, tryCases } from '../parts/seeded.ts';
import { type SeriesBody, seriesBodies } from './bodies.ts';
import { mutation } from './mutations.ts';

let bodies: SeriesBody[];
beforeAll(async () => {
  bodies = (await seriesBodies()).filter(({ series }) => series.dataset === 'candles');
});

/** The result of parsing, or its error. */
function outcomeOf<Answer>(read: () => Answer): Answer | { kind: string; message: string } {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return { kind: error.kind, message: error.message };
  }
}

test(
  'the fast path parses mutated candles as JSON and the schema do',
  async () => {
    let scanned = 0;
    const cases = await tryCases(
      'the fast path of candles',
      fc.record({ which: fc.nat(), spoil: mutation }),
      async ({ which, spoil }) => {
        const { series, text } = bodies[which % bodies.length] as SeriesBody;
        const body = spoil(text);
        const reply = { name: 'GET /candles', status: 200, header: () => undefined, body, durationMs: 1, secret: null };
        const interval = series.interval === 'h6' ? 'h1' : series.interval;
        if (scanPoints(body, 'candles', interval) !== null) scanned += 1;
        const fast = outcomeOf(() => {
          const answer = pointsAnswer(reply, { dataset: 'candles', interval });
          return { ...answer, rows: answer.rows.timesMs.map((_, place) => pointAt(answer.rows, place)) };
        });
        expect(fast).toEqual(outcomeOf(() => listAnswer(reply, pointReader('candles', interval))));
      },
      { batch: 500, batches: 3, share: 0.3 },
    );
    // Otherwise the test would show nothing.
    if (cases > 1) expect(scanned).toBeGreaterThan(10);
  },
  seededTimeoutMs,
);

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { binaryCopy } from '../../../store/commit/binary-copy.ts';
import { copyData } from '../../../store/commit/write-points.ts';
import { inTransaction } from '../../../store/db/database.ts';
import { timestamp } from '../../../store/db/values.ts';
import { openEmptyDatabase } from '../open-store.ts';

const digits = (longest: number) => fc.stringMatching(new RegExp(`^\\d{1,${longest}}$`));
const sign = fc.constantFrom('', '', '', '-');
const decimal = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^(0|[1-9]\d{0,9})\.\d{16}$/) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(sign, digits(40), fc.option(digits(40)))
      .map(([minus, whole, fraction]) => `${minus}${whole}${fraction === null ? '' : `.${fraction}`}`),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(sign, digits(5), digits(5), fc.constantFrom('e', 'E'), fc.integer({ min: -150, max: 150 }))
      .map(([minus, whole, fraction, e, power]) => `${minus}${whole}.${fraction}${e}${power}`),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...'0 -0 0.0000 -0.00 10000 100000000 0.0001 0.00010000 1e5 12e-3 00012'.split(' '),
      ...['9'.repeat(99), `0.${'0'.repeat(99)}1`, `1${'0'.repeat(40)}.${'0'.repeat(40)}`, '9999.9999'],
    ),
  },
);
const time = fc.oneof(
  fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2100, 0, 1) }),
  fc.constantFrom(0, Date.UTC(2000, 0, 1), Date.UTC(2000, 0, 1) - 1, Date.UTC(2024, 1, 29)),
);

test('COPY reads the same values in the binary format as in text', async () => {
  const database = await openEmptyDatabase();
  for (const name of ['as_binary', 'as_text'])
    await database.pool.query(
      `create table ${name} (number int generated always as identity, series_id int, time timestamptz, one numeric, other numeric)`,
    );
  const rows = fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 31 - 1 }), time, decimal, decimal), {
    minLength: 1,
    maxLength: 300,
  });
  await fc.assert(
    fc.asyncProperty(rows, async (table) => {
      const tuples = table.map(([seriesId, timeMs, one, other]) => ({
        seriesId,
        points: { timesMs: [timeMs], text: Buffer.from(`${one}\t${other}\n`), at: Int32Array.of(0, one.length + 1) },
      }));
      const lines = table.map(([series, timeMs, one, other]) => `${series}\t${timestamp(timeMs)}\t${one}\t${other}\n`);
      const columns = '(series_id, time, one, other) from stdin';
      await inTransaction(database, async (client) => {
        await client.query('truncate as_binary, as_text restart identity');
        const binary = binaryCopy(tuples, 2);
        expect(await copyData(client, `copy as_binary ${columns} (format binary)`, binary)).toBe(true);
        expect(await copyData(client, `copy as_text ${columns}`, [Buffer.from(lines.join(''))])).toBe(true);
      });
      const differing = await database.pool.query(
        `select * from as_binary b full join as_text t using (number)
         where (b.series_id, b.time, b.one::text, b.other::text)
               is distinct from (t.series_id, t.time, t.one::text, t.other::text)`,
      );
      expect(differing.rows).toEqual([]);
      const stored = await database.pool.query('select count(*)::int as rows from as_binary');
      expect(stored.rows).toEqual([{ rows: table.length }]);
    }),
    { numRuns: 40 },
  );
});

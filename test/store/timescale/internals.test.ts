import { expect, it } from 'vitest';
import { listChunksInRows, missingInternals } from '../../../store/timescale/internals.ts';
import { describeNeeding } from '../../parts/describe-needing.ts';
import { openOwnStore, useStore } from '../open-store.ts';

describeNeeding('plainPostgres', 'plain tables', () => {
  it('lack nothing', async () => {
    const { database } = await openOwnStore('plain');
    expect(await missingInternals(database.pool)).toBe(null);
  });
});

describeNeeding('timescale', 'what is read of TimescaleDB', () => {
  const store = useStore();

  it('is there in this release', async () => {
    expect(await missingInternals(store.database.pool)).toBe(null);
    await listChunksInRows(store.database.pool, { tables: ['candle_points'], beforeMs: Date.now() });
  });

  it('is named where a release lacks it', async () => {
    const client = await store.database.pool.connect();
    try {
      await client.query('begin');
      await client.query('alter table _timescaledb_catalog.dimension rename interval_length to other');
      await client.query('alter function _timescaledb_functions.chunk_status_text(regclass) rename to other');
      const missing = [
        '_timescaledb_catalog.dimension.interval_length',
        '_timescaledb_functions.chunk_status_text(regclass)',
      ];
      expect(await missingInternals(client)).toContain(` lacks ${missing.join(', ')}, which`);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });
});

/**
 * What runs on both backends of the queue. The contract of the backends is in this folder, and runs on both, whole. Elsewhere a
 * behaviour runs on one backend, but for the files that are named here with the reason. The long set runs on both as well.
 */

export const onBoth: Readonly<Record<string, string>> = {
  'test/pipeline/backfill.test.ts':
    'the way of a window from its gap to its commit, by the whole of the contract',
  'test/faults/crowd.test.ts': 'many workers claim the same jobs: the backends claim in different ways',
  'test/faults/database.test.ts':
    'a queue on PostgreSQL fails together with the store, one on Redis does not',
  'test/faults/kills.test.ts': 'the jobs of a killed process come back by different means',
};

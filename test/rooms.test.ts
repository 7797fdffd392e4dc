import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Which rooms each room may import from. Every room may import `config.ts`, `errors.ts` and `log.ts` at the top. */
const rooms: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  planning: ['contract'],
  store: ['planning', 'contract'],
  files: ['planning', 'contract'],
  source: ['planning', 'contract'],
  queue: ['planning', 'contract'],
  watch: ['store', 'planning', 'contract'],
  service: ['store', 'contract'],
  simulator: ['service', 'contract'],
  scheduler: ['watch', 'planning', 'store', 'queue', 'contract'],
  workers: ['planning', 'source', 'store', 'queue', 'contract'],
  // BullMQ's own view of its queues; wrong passwords are counted as the service counts them.
  board: ['service', 'queue'],
  // What the rooms below tell of their work is counted here; none of them knows of it.
  metrics: ['workers', 'scheduler', 'service', 'queue', 'source', 'store', 'contract'],
  tracing: ['workers', 'scheduler', 'queue', 'source', 'contract'],
  scripts: [
    'tracing',
    'metrics',
    'board',
    'workers',
    'scheduler',
    'simulator',
    'service',
    'watch',
    'queue',
    'source',
    'store',
    'files',
    'planning',
    'contract',
  ],
  migrations: [],
};

function* imports(room: string): Generator<{ file: string; target: string }> {
  for (const entry of readdirSync(room, { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.ts')) continue;
    const file = join(room, entry);
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/(?: from |import\()'(\.[^']+)'/g)) {
      yield { file, target: normalize(join(dirname(file), path)) };
    }
  }
}

describe('a room imports only from rooms below it', () => {
  it.each(Object.entries(rooms))('%s', (room, allowed) => {
    const found = [...imports(room)];
    const wrong = found.filter(({ target }) => {
      const [top = ''] = target.split('/');
      const isTopLevel = ['config.ts', 'errors.ts', 'log.ts'].includes(top);
      return top !== room && !allowed.includes(top) && !(isTopLevel && room !== 'contract');
    });
    expect(wrong).toEqual([]);
  });

  it('is checked for every folder that holds sources', () => {
    const folders = readdirSync('.', { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name)
      .filter((name) => readdirSync(name).some((file) => file.endsWith('.ts')));
    expect(
      folders.filter((name) => !['test', 'bench', 'dist', 'node_modules'].includes(name)).sort(),
    ).toEqual(Object.keys(rooms).sort());
  });
});

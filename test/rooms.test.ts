import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * The rooms that each room may import from. Every room may import the files at the top: `settings/config.ts`,
 * `errors.ts`, ...
 */
const rooms: Readonly<Record<string, string>> = {
  model: '',
  v2: 'model',
  settings: 'v2 model',
  planning: 'v2 model',
  files: 'planning model',
  queue: 'planning model',
  sources: 'planning v2 model',
  store: 'planning v2 model settings',
  'watch-list': 'store planning model settings',
  workers: 'store sources queue planning v2 model settings',
  scheduler: 'watch-list store queue planning model settings',
  transfer: 'watch-list schema store sources files planning v2 model settings',
  notify: 'watch-list store sources planning model',
  // Everything that a command, the service or a benchmark can request without a terminal.
  operations: 'scheduler workers watch-list store sources queue files planning v2 model settings',
  service: 'store files planning v2 model',
  dashboard: 'service transfer files store planning model',
  embedded: '',
  simulator: 'service v2 model',
  // The rooms below emit events, which these two count and trace. No room below imports them.
  tracing: 'workers scheduler sources v2',
  metrics: 'notify service scheduler workers planning store sources queue v2 model',
  // Assembles the parts of a process as the configuration describes them.
  runtime: `tracing metrics embedded dashboard service operations notify scheduler workers watch-list schema store
    sources queue planning model settings`,
  scripts: `runtime simulator embedded service operations notify transfer watch-list schema store sources queue files
    planning v2 model settings`,
  migrations: '',
  // What `migrate` does.
  schema: 'store planning model settings',
};

/** Folders of the store, from the ground: each imports only from those before it. */
const storeFloors = ['db', 'timescale', 'series', 'ledger', 'commit', 'lists', 'settings', 'upkeep', 'status'];

const topLevel = ['clock.ts', 'directories.ts', 'errors.ts', 'redaction.ts', 'version.ts'];
/** A folder with more files holds several concepts. */
const maxFiles = 25;
/** Files in a chain of imports of values. A reader follows it from a command to the ground. */
const maxChain = 13;

/** Files whose statements cannot declare their rows in `statement()`, and why. `store/db/` is below it. */
const rowsByHand: Readonly<Record<string, string>> = {
  'embedded/lease.ts': 'imports nothing of the store',
  'queue/postgres-connections.ts': 'imports nothing of the store, and executes the statements of BullMQ',
  'scripts/output/demo-queries.ts': 'executes the SQL of a user',
  'transfer/move/copy.ts': 'the columns of a table as both servers have them',
  'transfer/move/move.ts': 'one statement over all tables that both servers have',
  'transfer/move/tables.ts': 'a sequence of a table, by its name on that server',
  'transfer/queries/export-points.ts': 'measures the columns that are exported',
};

const isTooLong = (line: string) => line.length > 120;
/** Files with a line that cannot be divided. */
const longLines: Readonly<Record<string, string>> = {
  'embedded/server.ts': 'a regular expression',
  'store/db/failure.ts': 'regular expressions',
  'service/openapi/examples.ts': 'recorded answers',
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
  it.each(Object.entries(rooms))('%s', (room, below) => {
    const allowed = below.split(/\s+/);
    const found = [...imports(room)];
    const wrong = found.filter(({ target }) => {
      const [top = ''] = target.split('/');
      const isTopLevel = topLevel.includes(top);
      return top !== room && !allowed.includes(top) && !(isTopLevel && room !== 'model' && room !== 'v2');
    });
    expect(wrong).toEqual([]);
  });

  it('a folder of the store imports only from the folders before it', () => {
    const floorOf = (path: string) => storeFloors.indexOf(path.split('/')[1] ?? '');
    const found = [...imports('store')].filter(({ target }) => target.startsWith('store/'));
    expect(found.length).toBeGreaterThan(100);
    expect(found.filter(({ file, target }) => floorOf(target) === -1 || floorOf(target) > floorOf(file))).toEqual([]);
  });

  it('covers every folder with sources', () => {
    const folders = readdirSync('.', { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name)
      .filter((name) => !['test', 'bench', 'dist', 'node_modules'].includes(name))
      .filter((name) => readdirSync(name, { recursive: true, encoding: 'utf8' }).some((file) => file.endsWith('.ts')));
    expect(folders.sort()).toEqual(Object.keys(rooms).sort());
  });
});

/** The imports of values of a file, without those of Node: paths, and names of packages. */
function valuesOf(file: string): string[] {
  const values = /^(?:import|export) (?!type )(?:[^;'"]+ from )?'([^']+)'/gm;
  return [...readFileSync(file, 'utf8').matchAll(values)].flatMap(([, path = '']) => {
    if (path.startsWith('node:')) return [];
    return [path.startsWith('.') ? normalize(join(dirname(file), path)) : path];
  });
}

/** The modules that are loaded with a file: its imports of values, and theirs. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  for (const path of valuesOf(file)) {
    if (path.endsWith('.ts')) loadedWith(path, loaded);
    else loaded.add(path);
  }
  return loaded;
}

describe('the command line is parsed without heavy modules', () => {
  const declarations = readdirSync('scripts/commands').map((name) => join('scripts/commands', name));

  it.each(['scripts/tidemark.ts', 'scripts/main.ts', ...declarations])('%s', (file) => {
    const heavy = [...loadedWith(file)].filter(
      (name) => (!name.endsWith('.ts') && name !== 'commander') || name.startsWith('scripts/actions/'),
    );
    expect(heavy).toEqual([]);
  });

  it('actions import no declaration', () => {
    const wrong = [...imports('scripts/actions')].filter(({ target }) => target.startsWith('scripts/commands/'));
    expect(wrong).toEqual([]);
  });
});

describe('the product', () => {
  const files = new Map<string, string[]>();
  for (const room of Object.keys(rooms))
    for (const { file, target } of imports(room)) files.set(file, [...(files.get(file) ?? []), target]);

  it('has no folder with too many files', () => {
    const counts = new Map<string, number>();
    for (const room of Object.keys(rooms)) {
      for (const entry of readdirSync(room, { recursive: true, encoding: 'utf8' })) {
        if (!entry.endsWith('.ts')) continue;
        const folder = dirname(join(room, entry));
        counts.set(folder, (counts.get(folder) ?? 0) + 1);
      }
    }
    expect([...counts].filter(([, count]) => count > maxFiles)).toEqual([]);
  });

  it('has no line that is too long', () => {
    const sources = [...Object.keys(rooms), 'bench'].flatMap((room) =>
      readdirSync(room, { recursive: true, encoding: 'utf8' }).map((file) => join(room, file)),
    );
    const long = [...sources, ...topLevel, 'build.js'].filter(
      (file) => /\.(ts|tsx|js|sql)$/.test(file) && readFileSync(file, 'utf8').split('\n').some(isTooLong),
    );
    expect(long.sort()).toEqual(Object.keys(longLines).sort());
  });

  it('has no long chain of imports', () => {
    const chains = new Map<string, readonly string[]>();
    const chainOf = (file: string): readonly string[] => {
      const known = chains.get(file);
      if (known !== undefined) return known;
      const below = valuesOf(file).filter((path) => path.endsWith('.ts'));
      const longest = below.map(chainOf).reduce((one, other) => (other.length > one.length ? other : one), []);
      chains.set(file, [file, ...longest]);
      return [file, ...longest];
    };
    expect([...files.keys()].map(chainOf).filter((chain) => chain.length > maxChain)).toEqual([]);
  });

  it('asserts the types of rows by hand only where a statement cannot declare them', () => {
    const byHand = [...files.keys()].filter(
      (file) => !file.startsWith('store/db/') && /\bquery</.test(readFileSync(file, 'utf8')),
    );
    expect(Object.keys(rowsByHand).filter((file) => !byHand.includes(file))).toEqual([]);
    expect(byHand.filter((file) => !(file in rowsByHand))).toEqual([]);
  });

  it('has no cycle of imports, including type imports', () => {
    const done = new Set<string>();
    const cycles: string[][] = [];
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file]);
      if (done.has(file) || path.includes(file)) return;
      for (const target of files.get(file) ?? []) visit(target, [...path, file]);
      done.add(file);
    };
    for (const file of files.keys()) visit(file, []);
    expect(cycles).toEqual([]);
  });
});

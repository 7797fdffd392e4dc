import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The rooms that each room may import from. Every room may import the files at the top: `config.ts`, `errors.ts`, ... */
const rooms: Readonly<Record<string, string>> = {
  contract: '',
  planning: 'contract',
  store: 'planning contract',
  files: 'planning contract',
  source: 'planning contract',
  queue: 'planning contract',
  'watch-list': 'store planning contract',
  scheduler: 'watch-list planning store queue contract',
  workers: 'planning source store queue contract',
  // Everything that a command, the service or a benchmark can request without a terminal.
  operations: 'workers scheduler watch-list queue source files store planning contract',
  service: 'operations store planning contract',
  simulator: 'service contract',
  // The rooms below emit events, which these two count and trace. No room below imports them.
  metrics: 'workers scheduler service queue source store contract',
  tracing: 'workers scheduler queue source contract',
  // Assembles the parts of a process as the configuration describes them.
  runtime: 'tracing metrics service operations workers scheduler queue source store planning contract',
  scripts: 'runtime simulator service operations watch-list queue files store planning contract',
  migrations: '',
};

const topLevel = 'clock.ts config.ts environment.ts errors.ts log.ts format.ts redaction.ts version.ts'.split(' ');
/** A folder with more files holds several concepts. */
const maxFiles = 25;

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
    const allowed = below.split(' ');
    const found = [...imports(room)];
    const wrong = found.filter(({ target }) => {
      const [top = ''] = target.split('/');
      const isTopLevel = topLevel.includes(top);
      return top !== room && !allowed.includes(top) && !(isTopLevel && room !== 'contract');
    });
    expect(wrong).toEqual([]);
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

/** The modules that are loaded with a file: its imports of values, and theirs. Packages are their names. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const values = /^(?:import|export) (?!type )(?:[^;'"]+ from )?'([^']+)'/gm;
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(values)) {
    if (path.startsWith('.')) loadedWith(normalize(join(dirname(file), path)), loaded);
    else if (!path.startsWith('node:')) loaded.add(path);
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

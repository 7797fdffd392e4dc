// Compiles the sources, and bundles the dashboard's page beside them. The result is renamed to dist/ when it is whole:
// commands find the previous one meanwhile, also after a build that was killed.
//
// `npm ci` runs this through `prepare`, so that `npx tidemark` works straight after it. npx runs `prepare` too: with
// --if-changed the dist/ of the same sources stays. An install without development dependencies has no compiler and
// keeps what is there.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

// The attribution that Lightweight Charts asks for, beside the link on the page itself.
const notice = `TradingView Lightweight Charts(TM)
Copyright (c) TradingView, Inc. https://www.tradingview.com/`;

// Of fancy-canvas, whose package has no file of its own for it: the MIT licence, whose text Preact's package has.
const sameTerms = `Copyright (c) 2019 TradingView, Inc

MIT License: the permission notice and the disclaimer that follow below, of Preact, hold for it word by word.
`;

// `npm ci` comes here first, and an older Node cannot load the bundler.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`This is Node ${process.versions.node}; Tidemark needs Node 20.19 or newer.`);
  process.exit(2);
}

const compiler = 'node_modules/typescript/bin/tsc';
/** Each build has a folder of its own there, named by its process. */
const unfinished = '.build';
/** Holds the hash of the sources of a dist/. */
const stamp = 'sources.sha256';

// A package without the program would install, and do nothing.
if (process.argv.includes('--required') && !existsSync(compiler)) throw new Error('run `npm ci` first');
const hash = hashOfSources();
const isCurrent = existsSync(join('dist', stamp)) && readFileSync(join('dist', stamp), 'utf8') === hash;
if (existsSync(compiler) && !(isCurrent && process.argv.includes('--if-changed'))) {
  const built = join(unfinished, String(process.pid));
  removeUnfinished();
  // `npm run typecheck` checks the types.
  const words = ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', built];
  execFileSync(process.execPath, [compiler, ...words], { stdio: 'inherit' });
  chmodSync(join(built, 'scripts/tidemark.js'), 0o755);
  const assets = join(built, 'dashboard/assets');
  await bundle('dashboard/page/main.tsx', join(assets, 'app.js'));
  copyFiles('dashboard/page', assets, ['index.html', 'app.css']);
  writeLicences(join(assets, 'licences.txt'));
  const files = join(built, 'service/pages/files');
  await bundle('service/pages/browser/try.ts', join(files, 'try.js'));
  copyFiles('service/pages/browser', files, ['frame.css', 'icon.svg']);
  for (const folder of ['schema/api', 'schema/api/analysis']) {
    mkdirSync(join(built, folder));
    copyFiles(folder, join(built, folder), sqlFilesOf(folder));
  }
  writeFileSync(join(built, stamp), hash);
  const previous = `${built}-previous`;
  if (existsSync('dist')) renameSync('dist', previous);
  renameSync(built, 'dist');
  rmSync(previous, { recursive: true, force: true });
}

/** Of every file that the build reads, by name and content. */
function hashOfSources() {
  const apart = ['node_modules', 'dist', 'test', 'bench', 'docs'];
  const names = readdirSync('.', { withFileTypes: true }).flatMap((entry) => {
    if (entry.name.startsWith('.') || apart.includes(entry.name)) return [];
    if (!entry.isDirectory())
      return /\.ts$|^(?:build\.js|package.*\.json|tsconfig.*\.json)$/.test(entry.name) ? [entry.name] : [];
    const below = readdirSync(entry.name, { recursive: true });
    return below.filter((name) => /\.(?:tsx?|sql|css|html|svg)$/.test(name)).map((name) => join(entry.name, name));
  });
  const sum = createHash('sha256');
  for (const name of names.sort()) sum.update(`${name}\0`).update(readFileSync(name)).update('\0');
  return sum.digest('hex');
}

/** Removes what killed builds left. */
function removeUnfinished() {
  if (!existsSync(unfinished)) return;
  for (const name of readdirSync(unfinished)) {
    try {
      process.kill(Number.parseInt(name, 10), 0);
    } catch {
      rmSync(join(unfinished, name), { recursive: true, force: true });
    }
  }
}

async function bundle(input, file) {
  const { build } = await import('rolldown');
  await build({
    input,
    platform: 'browser',
    transform: { target: 'es2023' },
    output: { file, format: 'es', minify: true, comments: { legal: true } },
  });
}

function copyFiles(source, target, names) {
  for (const name of names) copyFileSync(join(source, name), join(target, name));
}

function sqlFilesOf(folder) {
  return readdirSync(folder).filter((name) => name.endsWith('.sql'));
}

function writeLicences(file) {
  const licences = ['lightweight-charts', 'fancy-canvas', 'preact'].map((name) => {
    const folder = join('node_modules', name);
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const text = join(folder, 'LICENSE');
    return `${name} ${version}\n\n${existsSync(text) ? readFileSync(text, 'utf8') : sameTerms}`;
  });
  writeFileSync(file, `${notice}\n\n${licences.join('\n\n')}`);
}

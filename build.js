// Compiles the sources to dist/, and bundles the dashboard's page beside them. `npm ci` runs this through `prepare`, so
// that `npx tidemark` works straight after it; an install without development dependencies has no compiler and keeps
// what is there.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// The attribution that Lightweight Charts asks for, beside the link on the page itself.
const notice = `TradingView Lightweight Charts(TM)
Copyright (c) TradingView, Inc. https://www.tradingview.com/`;

// Of fancy-canvas, whose package has no file of its own for it: the MIT licence, whose text Preact's package has.
const sameTerms = `Copyright (c) 2019 TradingView, Inc

MIT License: the permission notice and the disclaimer that follow below, of Preact, hold for it word by word.
`;

const compiler = 'node_modules/typescript/bin/tsc';
// A package without the program would install, and do nothing.
if (process.argv.includes('--required') && !existsSync(compiler)) throw new Error('run `npm ci` first');
if (existsSync(compiler)) {
  rmSync('dist', { recursive: true, force: true });
  // `npm run typecheck` checks the types.
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], { stdio: 'inherit' });
  chmodSync('dist/scripts/tidemark.js', 0o755);
  await bundle('service/dashboard/page/main.tsx', 'dist/service/dashboard/assets/app.js');
  copyFiles('service/dashboard/page', 'dist/service/dashboard/assets', ['index.html', 'app.css']);
  writeLicences('dist/service/dashboard/assets/licences.txt');
  await bundle('service/pages/browser/try.ts', 'dist/service/pages/files/try.js');
  copyFiles('service/pages/browser', 'dist/service/pages/files', ['frame.css', 'icon.svg']);
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

function writeLicences(file) {
  const licences = ['lightweight-charts', 'fancy-canvas', 'preact'].map((name) => {
    const folder = join('node_modules', name);
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const text = join(folder, 'LICENSE');
    return `${name} ${version}\n\n${existsSync(text) ? readFileSync(text, 'utf8') : sameTerms}`;
  });
  writeFileSync(file, `${notice}\n\n${licences.join('\n\n')}`);
}

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeMissing } from '../parts/describe-needing.ts';
import { processesMs } from '../scripts/command.ts';
import { endedWith } from '../scripts/ended.ts';
import { copyOf, openDirectory } from './source-tree.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

/** The dependencies of a global installation come from the registry. */
const hasRegistry = spawnSync('npm', ['ping'], { timeout: 30_000 }).status === 0;
const describeWithRegistry = hasRegistry
  ? (title: string, body: () => void) => it(title, body, processesMs * 2)
  : (title: string, body: () => void) =>
      describeMissing(title, 'the npm registry does not answer', () => it(title, body));

describeWithRegistry('the packed tarball installs globally, and the demo runs from any folder', () => {
  const checkout = copyOf();
  execFileSync('npm', ['pack', '--pack-destination', checkout], { cwd: checkout, stdio: 'pipe' });
  const tarball = join(checkout, `tidemark-${version}.tgz`);
  const contents = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).split('\n');
  expect(contents.filter((name) => /^package\/(dist\/)?(bench|test)\b|\.map$/.test(name))).toEqual([]);
  expect(contents).toContain('package/deploy/systemd/tidemark@.service');

  const [prefix, home, folder] = [openDirectory(), openDirectory(), openDirectory()];
  const install = 'install --global --engine-strict --prefer-offline --no-audit --no-fund --prefix'.split(' ');
  execFileSync('npm', [...install, prefix, tarball], { stdio: 'pipe' });
  const run = (...words: string[]) => {
    const { status, stdout, stderr } = spawnSync(join(prefix, 'bin/tidemark'), words, {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: home, SERVE_PORT: '0' },
      encoding: 'utf8',
    });
    return endedWith(status, stdout, stderr);
  };
  expect(run('--version').stdout).toBe(`${version}\n`);
  const demo = run('demo', '--once');
  expect([demo.exitCode, demo.stderr]).toEqual([0, '']);
  expect(demo.stdout).toMatch(/backfill complete: \d+ requests/);
  // The files of the dashboard are in the package.
  const page = join(prefix, 'lib/node_modules/tidemark/dist/dashboard/assets/index.html');
  expect(readFileSync(page, 'utf8')).toContain('<script');
});

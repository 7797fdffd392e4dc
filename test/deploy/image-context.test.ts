import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyOf, imageContext } from './source-tree.ts';

it('the product builds from the files of the image alone', () => {
  const directory = copyOf(imageContext());
  expect(existsSync(join(directory, 'test'))).toBe(false);

  execFileSync(process.execPath, ['build.js'], { cwd: directory, stdio: 'pipe' });

  const program = join(directory, 'dist/scripts/tidemark.js');
  expect(execFileSync(process.execPath, [program, '--help'], { encoding: 'utf8' })).toContain('backfill');
  // npx runs `prepare` in a clone: it leaves a current dist/ alone, and a build that fails or is killed leaves the
  // previous one.
  const prepare = () => spawnSync(process.execPath, ['build.js', '--if-changed'], { cwd: directory }).status;
  const { ino } = statSync(join(directory, 'dist'));
  expect([prepare(), statSync(join(directory, 'dist')).ino]).toEqual([0, ino]);
  writeFileSync(join(directory, 'clock.ts'), 'export const = ;');
  expect([prepare(), statSync(join(directory, 'dist')).ino]).toEqual([1, ino]);
  expect(existsSync(program)).toBe(true);
  const built = readdirSync(join(directory, 'dist'), { recursive: true, encoding: 'utf8' });
  expect(built.filter((name) => /^(bench|test)\b|\.map$/.test(name))).toEqual([]);
});

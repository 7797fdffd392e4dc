import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyOf, imageContext } from './source-tree.ts';

it('the product builds from the files of the image alone', () => {
  const directory = copyOf(imageContext());
  expect(existsSync(join(directory, 'test'))).toBe(false);

  execFileSync(process.execPath, ['build.js'], { cwd: directory, stdio: 'pipe' });

  const program = join(directory, 'dist/scripts/tidemark.js');
  expect(execFileSync(process.execPath, [program, '--help'], { encoding: 'utf8' })).toContain('backfill');
  const built = readdirSync(join(directory, 'dist'), { recursive: true, encoding: 'utf8' });
  expect(built.filter((name) => /^(bench|test)\b|\.map$/.test(name))).toEqual([]);
});

import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeMissing } from '../../parts/describe-needing.ts';
import { emptyDirectory, inShell } from '../command.ts';
import { openWatched } from '../commands/watch-list-parts.ts';

const full = '/dev/full';

function body() {
  const toFull = (words: string, env: Record<string, string> = {}, cwd = emptyDirectory()) =>
    inShell(words.split(' '), `> ${full}`, env, cwd);
  const line =
    'tidemark: FILE_NOT_WRITTEN: standard output: no space left on device; free disk space or write elsewhere; the rest of the command succeeded\n';

  it('is reported in one line after the work', async () => {
    const { write, env, directory, series } = await openWatched();
    write('history: [{ asset: bitcoin, interval: d1, from: 2024-01-01 }]');
    for (const words of ['--version', 'status --watch --json'])
      expect([words, await toFull(words, env, directory)]).toMatchObject([words, { exitCode: 8, stderr: line }]);
    expect(await series()).toEqual([]);
    expect(await toFull('apply', env, directory)).toMatchObject({ exitCode: 8, stderr: line });
    expect(await series()).toHaveLength(1);
  });

  it('does not hide another error', async () => {
    const ended = await toFull('status', { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    expect(ended.exitCode).toBe(5);
    expect(ended.stderr).toMatch(/^tidemark: DATABASE_UNREACHABLE: [^\n]+\n$/);
  });
}

const title = 'a standard output that cannot be written';
if (existsSync(full)) describe(title, body);
else describeMissing(title, `there is no ${full}`, body);

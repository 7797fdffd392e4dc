import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeMissing } from '../../parts/describe-needing.ts';
import { program } from '../command.ts';
import { openWatched } from '../commands/watch-list-parts.ts';
import { type Ended, endedWith } from '../ended.ts';

const full = '/dev/full';

function body() {
  /** What came on standard error, and the exit code, of a command whose standard output is a disk that is full. */
  function toFull(words: string, env: Readonly<Record<string, string>> = {}, cwd = '/') {
    const command = `'${process.execPath}' '${program}' ${words} > ${full}`;
    const options = { cwd, env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } };
    return new Promise<Ended>((settle) => {
      execFile('/bin/sh', ['-c', command], options, (error, _, stderr) =>
        settle(endedWith(Number(error?.code ?? 0), '', stderr)),
      );
    });
  }
  const line =
    'tidemark: FILE_NOT_WRITTEN: standard output: no space left on device; free disk space or write elsewhere; the rest of the command succeeded\n';

  it('is reported in one line after the work', async () => {
    const { write, env, directory, series } = await openWatched();
    write('history: [{ asset: bitcoin, interval: d1, from: 2024-01-01 }]');
    for (const words of ['--version', 'status', 'plan --json', 'apply --dry-run', 'status --watch --json'])
      expect([words, await toFull(words, env, directory)]).toMatchObject([
        words,
        { exitCode: 8, stderr: line },
      ]);
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

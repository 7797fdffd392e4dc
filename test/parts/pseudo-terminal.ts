/** Runs a command in a real terminal by `script` of util-linux: part of every Debian, and no native package. */

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { emptyDirectory } from '../scripts/command.ts';
import { TerminalScreen } from './terminal-screen.ts';
import { waitFor } from './wait-for.ts';

/** The reason why there is no pseudo-terminal here. Empty when there is one. */
export function noPseudoTerminal(): string {
  try {
    const says = execFileSync('script', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    execFileSync('stty', ['--version'], { stdio: 'ignore' });
    return says.includes('util-linux') ? '' : '`script` is not that of util-linux';
  } catch {
    return 'no `script` of util-linux and `stty` of coreutils';
  }
}

export interface TerminalSession {
  readonly screen: TerminalScreen;
  output(): string;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<number | null>;
}

/** @param words the program and its arguments. It receives only the given variables and those of the system. */
export async function inTerminal(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  size: { readonly columns: number; readonly rows: number } = { columns: 80, rows: 24 },
): Promise<TerminalSession> {
  const directory = emptyDirectory();
  const about = join(directory, 'about');
  const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const command = `stty cols ${size.columns} rows ${size.rows}; echo "$$ $(tty)" > ${about}; exec ${quoted}`;
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      SHELL: '/bin/sh',
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      SERVE_PORT: '0',
      ...env,
    },
    // Its input stays open, because an end of input would be typed as Ctrl-D.
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const screen = new TerminalScreen(size.columns, size.rows);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    screen.write(text);
  });
  const ended = new Promise<number | null>((settle) => child.on('close', settle));
  await waitFor('the terminal to open', () => existsSync(about) && readFileSync(about, 'utf8').includes('\n'));
  const [pid = '', tty = ''] = readFileSync(about, 'utf8').trim().split(' ');
  onTestFinished(() => {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  });
  return {
    screen,
    output: () => output,
    type: (keys) => void child.stdin.write(keys),
    resize(columns, rows) {
      screen.resize(columns, rows);
      execFileSync('stty', ['-F', tty, 'cols', String(columns), 'rows', String(rows)]);
    },
    kill: (signal) => void process.kill(Number(pid), signal),
    ended,
  };
}

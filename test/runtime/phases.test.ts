import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../clock.ts';
import { TerminalScreen } from '../parts/terminal-screen.ts';

// A module of its own: the other one may have wrapped the streams, for a command of an earlier file that has not closed
// yet, and would not see the writing that is put in their place here.
const own = '../../runtime/phases.ts?own';
const { openPhases }: typeof import('../../runtime/phases.ts') = await import(own);

/** What the command and its phases write, in order. */
let written: string[] = [];
let screen: TerminalScreen;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  written = [];
  screen = new TerminalScreen(60, 10);
  const stdout = process.stdout.write;
  const stderr = process.stderr.write;
  const keep = (text: string | Uint8Array) => {
    written.push(String(text));
    screen.write(String(text).replaceAll(/(?<!\r)\n/g, '\r\n'));
    return true;
  };
  process.stdout.write = keep;
  process.stderr.write = keep;
  onTestFinished(() => {
    process.stdout.write = stdout;
    process.stderr.write = stderr;
    vi.useRealTimers();
  });
});

function onTerminal(isTTY: boolean): void {
  const { stderr } = process;
  const before = { isTTY: stderr.isTTY, columns: stderr.columns };
  Object.assign(stderr, { isTTY, columns: 60 });
  onTestFinished(() => void Object.assign(stderr, before));
}

it('says a phase within two seconds of silence, and again every fifteen', () => {
  onTerminal(false);
  const { phase, close } = openPhases(systemClock);
  phase('waiting for the database');
  vi.advanceTimersByTime(2000);
  expect(written).toEqual(['tidemark: waiting for the database, 1 s so far\n']);
  vi.advanceTimersByTime(30_000);
  expect(written).toHaveLength(3);
  expect(written.at(-1)).toBe('tidemark: waiting for the database, 31 s so far\n');
  phase('refreshing the rollups', '3 of 12 done');
  vi.advanceTimersByTime(2000);
  phase('refreshing the rollups', '4 of 12 done');
  vi.advanceTimersByTime(7000);
  expect(written.slice(3)).toEqual([expect.stringMatching(/^tidemark: refreshing the rollups, 3 of 12 done, /)]);
  phase(null);
  vi.advanceTimersByTime(60_000);
  expect(written).toHaveLength(4);
  close();
});

it('stays silent while a command prints, and after it has closed', () => {
  onTerminal(false);
  const { phase, close } = openPhases(systemClock);
  phase('backfilling');
  for (let line = 0; line < 20; line++) {
    process.stdout.write(`line ${line}\n`);
    vi.advanceTimersByTime(900);
  }
  expect(written).toHaveLength(20);
  close();
  vi.advanceTimersByTime(60_000);
  expect(written).toHaveLength(20);
});

it('replaces its line on a terminal, and gives way to other output', () => {
  onTerminal(true);
  const { phase, close } = openPhases(systemClock);
  phase('creating the embedded database in /somewhere/on/this/machine/that/is/long');
  vi.advanceTimersByTime(3000);
  expect(screen.lines()).toEqual([expect.stringMatching(/^creating the embedded database in .*…$/)]);
  phase('migrating the database');
  vi.advanceTimersByTime(1000);
  expect(screen.lines()).toEqual(['migrating the database, 1 s so far']);
  process.stdout.write('tracking binance\n');
  expect(screen.lines()).toEqual(['tracking binance', '']);
  vi.advanceTimersByTime(2000);
  expect(screen.lines()).toEqual(['tracking binance', 'migrating the database, 3 s so far']);
  expect(screen.folded).toEqual([]);
  close();
  expect(screen.text()).toBe('tracking binance');
});

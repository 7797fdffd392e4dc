import { describe, expect, it } from 'vitest';
import { confirmByName } from '../../../scripts/input/confirm.ts';
import { openWatched } from './watch-list-parts.ts';

async function environment() {
  const { run, query } = await openWatched();
  const settings = () => query(`select name, value from tidemark.settings where name like 'retention.%'`);
  return { run: (...words: string[]) => run(words.join(' ')), settings };
}

describe('tidemark retention', () => {
  it('is off by default, and must be confirmed by name', async () => {
    const { run, settings } = await environment();
    expect((await run('retention')).stdout.match(/ forever /g)).toHaveLength(3);
    expect((await run('status')).stdout).not.toMatch(/^retention:/m);
    for (const [words, part] of [
      [['candles', '2y'], 'add --confirm candles'],
      [['candles', '2y', '--confirm', 'history'], '"history" does not confirm it'],
      [['candles', '2y', '--confirm', ''], '"" does not confirm it'],
      [['candle', '2y', '--confirm', 'candle'], 'one of candles, history, rates, not "candle"'],
      [['candles', '2', '--confirm', 'candles'], 'the age "2"'],
      [['candles', '6h', '--confirm', 'candles'], 'the age "6h"'],
      [['candles', '2024-01-01', '--confirm', 'candles'], 'the age "2024-01-01"'],
      [['candles', '99999y', '--confirm', 'candles'], 'the age "99999y"'],
    ] as const) {
      const ended = await run('retention', 'set', ...words);
      expect(ended).toMatchObject({ exitCode: 2, stdout: '' });
      expect(ended.stderr).toMatch(/^tidemark: BAD_ARGUMENT: [^\n]*\n$/);
      expect(ended.stderr).toContain(part);
    }
    expect(await settings()).toEqual([]);
  });

  it('is shown in status, limits later tracking, and can be switched off', async () => {
    const { run, settings } = await environment();
    const ended = await run('retention', 'set', 'candles', '2y', '--confirm', 'candles');
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await settings()).toEqual([{ name: 'retention.candles', value: '2y' }]);
    const status = JSON.parse((await run('status', '--json')).stdout);
    expect(status.retention).toMatchObject([{ dataset: 'candles', age: '2y' }]);
    const cut: string = status.retention[0].nothingBefore;
    expect((await run('status')).stdout).toContain(
      `retention: candles for 2y (nothing before ${cut.slice(0, 10)})`,
    );
    expect((await run('retention', 'show')).stdout).toContain(cut.slice(0, 10));

    const market = ['--exchange', 'x', '--base', 'a', '--quote', 'b', '--interval'];
    const tracked = await run('track', 'candles', ...market, 'd1', '--from', '11y');
    expect(tracked.exitCode).toBe(0);
    expect(tracked.stderr).toMatch(/^tidemark: the retention of 2y keeps nothing before [^\n]*\n$/);
    const series = JSON.parse((await run('status', '--json')).stdout).series;
    expect(series[0].tracked.from).toBe(cut);
    // What is younger is tracked as it is asked for, and what is wholly older is refused.
    const younger = await run('track', 'candles', ...market, 'h1', '--from', '1y');
    expect(younger).toMatchObject({ exitCode: 0, stderr: '' });
    const older = await run('track', 'candles', ...market, 'm1', '--from', '11y', '--to', '10y');
    expect(older).toMatchObject({ exitCode: 2, stdout: '' });
    expect(older.stderr).toMatch(/^tidemark: BAD_ARGUMENT: --to [^\n]*\n$/);
    // Other datasets are kept for good.
    const history = await run('track', 'history', '--asset', 'a', '--interval', 'd1', '--from', '11y');
    expect(history).toMatchObject({ exitCode: 0, stderr: '' });

    expect((await run('retention', 'show')).stdout).toMatch(/^history +forever +-$/m);
    expect((await run('retention', 'off', 'candles')).stdout).toContain('kept forever from now on');
    expect(await settings()).toEqual([]);
    expect((await run('track', 'candles', ...market, 'd1', '--from', '11y')).stderr).toBe('');
  });
});

describe('confirmByName', () => {
  const confirmation = { name: 'candles', consequence: 'This drops much.', given: undefined };

  it('prompts for the name after explaining the consequence', async () => {
    const questions: string[] = [];
    const ask = (answer: string) => async (question: string) => {
      questions.push(question);
      return answer;
    };
    await confirmByName({ ...confirmation, ask: ask(' candles ') });
    expect(questions).toEqual(['This drops much.\nType candles to confirm: ']);
    for (const answer of ['', 'y', 'yes', 'candle', 'Candles']) {
      await expect(confirmByName({ ...confirmation, ask: ask(answer) })).rejects.toMatchObject({
        code: 'BAD_ARGUMENT',
      });
    }
  });

  it('does not prompt when the name is given', async () => {
    const ask = () => Promise.reject(new Error('asked'));
    await confirmByName({ ...confirmation, given: 'candles', ask });
    await expect(confirmByName({ ...confirmation, given: 'rates', ask })).rejects.toMatchObject({
      code: 'BAD_ARGUMENT',
    });
  });
});

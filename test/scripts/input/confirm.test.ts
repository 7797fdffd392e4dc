import { describe, expect, it } from 'vitest';
import { describeMissing } from '../../parts/describe-needing.ts';
import { inTerminal, noPseudoTerminal, type TerminalSession } from '../../parts/pseudo-terminal.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { program } from '../command.ts';
import { openWatched } from '../commands/watch-list-parts.ts';

/** Ctrl-C and Ctrl-D, which are keys while a line is read, and a signal. */
const ways: ReadonlyArray<(session: TerminalSession) => void> = [
  (session) => session.type('\u0003'),
  (session) => session.type('\u0004'),
  (session) => session.kill('SIGTERM'),
];

async function stored() {
  const watched = await openWatched();
  await watched.say(
    'backfill candles --exchange binance --base bitcoin --quote tether --interval h1 --from 2024-03-01 --to 2024-03-05',
  );
  const settings = () => watched.query(`select name, value from tidemark.settings where name like 'retention.%'`);
  return { ...watched, settings };
}

function terminalTests() {
  it('changes nothing when the prompt is aborted', async () => {
    const { write, env, directory, series, settings } = await stored();
    write('retention: { candles: 90d }');
    const before = await series();
    const question = 'Type candles to confirm:';
    const asked = async (words: string) => {
      const session = await inTerminal(
        [process.execPath, program, ...words.split(' ')],
        { ...env, WATCH_LIST: `${directory}/tidemark.yaml` },
        { columns: 250, rows: 40 },
      );
      await waitFor('the question', () => session.screen.text().endsWith(question));
      return session;
    };
    const set = 'retention set candles 90d';
    // `apply` asks with the same function.
    for (const [place, words] of [set, set, set, 'apply'].entries()) {
      const session = await asked(words);
      ways[place % ways.length]?.(session);
      expect(await session.ended).toBe(130);
      expect(session.screen.text().split(question)[1]?.trim()).toBe(
        'tidemark: INTERRUPTED: stopped before any change; run the same command again: it asks again',
      );
      expect(session.screen.lines()).not.toContainEqual(expect.stringMatching(/confirm:.*tidemark/));
      expect([await series(), await settings()]).toEqual([before, []]);
    }
    const session = await asked('apply');
    session.type('candles\r');
    expect(await session.ended).toBe(0);
    expect(await settings()).toEqual([{ name: 'retention.candles', value: '90d' }]);
  });
}

const missing = noPseudoTerminal();
if (missing === '') describe('asked on a terminal', terminalTests);
else describeMissing('asked on a terminal', `needs a pseudo-terminal: ${missing}`, terminalTests);

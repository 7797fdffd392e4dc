/**
 * docs/screens.md: what the main commands show on a terminal of 80 and of 120 columns, of simulated data. `npm run
 * docs` takes the screens. test/scripts/output tests how the tables fit a width.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import stringWidth from 'string-width';
import { expect, inject, it } from 'vitest';
import { inTerminal } from '../parts/pseudo-terminal.ts';
import { waitFor } from '../parts/wait-for.ts';
import { emptyDirectory, program } from '../scripts/command.ts';
import { openWatched } from '../scripts/commands/watch-list-parts.ts';

const path = 'docs/screens.md';
const widths = [80, 120] as const;
const market = 'candles --exchange binance --base bitcoin --quote tether';

interface Screen {
  readonly title: string;
  readonly about: string;
  /** What is typed, and its text at each width. */
  readonly command: string;
  readonly texts: ReadonlyArray<readonly [columns: number, text: string]>;
}

/** @param until the text to look at before the end; absent: at its end. */
async function screenOf(
  command: string,
  env: Readonly<Record<string, string>>,
  columns: number,
  until?: RegExp,
): Promise<string> {
  const session = await inTerminal(
    [process.execPath, program, ...command.split(' ')],
    { ...env, NO_COLOR: '1' },
    { columns, rows: 100 },
  );
  if (until !== undefined) await waitFor(`the screen to match ${until}`, () => until.test(session.screen.text()));
  else await session.ended;
  const text = session.screen.text();
  if (until !== undefined) session.kill('SIGINT');
  await session.ended;
  // An error is one line.
  const wide = session.screen.folded.filter((line) => !line.startsWith('tidemark: '));
  folded.push(...wide.map((line) => `${command}, ${columns}: ${line}`));
  return text;
}

/** Lines that were wider than the terminal. */
const folded: string[] = [];

async function screens(): Promise<Screen[]> {
  const taken: Screen[] = [];
  const { env, run } = await openWatched();
  const take = async (title: string, about: string, command: string, until?: RegExp) => {
    const texts: Array<readonly [number, string]> = [];
    for (const columns of widths) texts.push([columns, await screenOf(command, env, columns, until)]);
    taken.push({ title, about, command, texts });
  };
  const done = async (words: string) => expect(await run(words)).toMatchObject({ exitCode: 0 });

  await done(`backfill ${market} --interval m1,h1 --from 2024-03-01 --to 2024-03-05`);
  await done('backfill history --asset bitcoin --interval d1 --from 2024-01-01 --to 2024-03-01');
  await take('Status', 'A small store.', 'status');
  await done(`track ${market} --interval h1 --from 2024-03-01 --to 2024-04-01`);
  await take('Plan', 'The cost of what is missing.', 'plan');
  await take('Gaps', 'What is missing, and why.', 'gaps');
  await take('Why', 'One series.', 'why binance bitcoin/tether h1');
  await take('Verify', 'Every covered window again.', 'verify --all');

  const backfill = (columns: number) =>
    `backfill ${market.replace('bitcoin', columns === 80 ? 'ethereum' : 'cardano')} --interval m1,h1 --from 2024-03-01 --to 2024-03-20`;
  const slow = { ...env, SOURCE_REQUESTS_PER_MINUTE: '300' };
  const live: Array<readonly [number, string]> = [];
  const ended: Array<readonly [number, string]> = [];
  for (const columns of widths) {
    live.push([columns, await screenOf(backfill(columns), slow, columns, /m1 █+░+ .* points a second/s)]);
    ended.push([columns, await screenOf(backfill(columns), env, columns)]);
  }
  const command = backfill(80);
  taken.push({ title: 'Backfill, in progress', about: 'Drawn in place.', command, texts: live });
  taken.push({ title: 'Backfill, at its end', about: 'The last line is the result.', command, texts: ended });

  const demo = await Promise.all(
    widths.map(async (columns) => {
      const text = await screenOf('demo --once', { TIDEMARK_DIR: emptyDirectory() }, columns);
      return [columns, text] as const;
    }),
  );
  taken.push({ title: 'Demo', about: 'Everything is synthetic.', command: 'demo --once', texts: demo });
  return taken;
}

/** Paths and ports of the machine are replaced. */
function cleaned(text: string): string {
  return text.replaceAll(/\/tmp\/[\w-]+/g, '.tidemark').replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:4010');
}

function pageOf(taken: readonly Screen[]): string {
  const parts = taken.map(({ title, about, command, texts }) => {
    const blocks = texts.map(([columns, text]) => `${columns} columns:\n\n\`\`\`text\n${cleaned(text)}\n\`\`\``);
    return `## ${title}\n\n${about}\n\n\`tidemark ${command}\`\n\n${blocks.join('\n\n')}\n`;
  });
  return `# Screens

What the main commands show on terminals of 80 and of 120 columns, without colours. The page is made by \`npm run docs\` from
the commands themselves, on data of the simulator: times, lengths and prices are those of that day.

${parts.join('\n')}`;
}

/** Its blocks by title and width. */
function blocksOf(page: string): Map<string, string> {
  return new Map(
    page
      .split(/^## /m)
      .flatMap((part) =>
        [...part.matchAll(/^(\d+) columns:\n\n```text\n(.*?)\n```$/gms)].map(
          ([, columns, text = '']): [string, string] => [`${part.slice(0, part.indexOf('\n'))}, ${columns}`, text],
        ),
      ),
  );
}

it('docs/screens.md has every screen in 80 and 120 columns, and no line is wider', () => {
  const blocks = blocksOf(readFileSync(path, 'utf8'));
  expect(blocks.size).toBeGreaterThanOrEqual(16);
  for (const [name, text] of blocks) {
    const columns = Number(name.slice(name.lastIndexOf(' ')));
    expect([name, text.split('\n').filter((line) => stringWidth(line) > columns)]).toEqual([name, []]);
  }
});

if (inject('updatesDocs'))
  it('takes the screens', async () => {
    const page = pageOf(await screens());
    expect(folded).toEqual([]);
    writeFileSync(path, page);
  });

/** docs/cli.md is generated from the help of the commands by `npm run docs`. */

import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { documents } from '../../scripts/output/documents.ts';
import { createProgram } from '../../scripts/program.ts';

/** The width of the help, independent of the terminal that runs the test. */
const width = 100;

function helpOf(command: Command): string {
  command.configureHelp({ helpWidth: width });
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => width });
  command.outputHelp();
  return text.trimEnd();
}

function* withSubcommands(command: Command): Generator<Command> {
  yield command;
  for (const inner of command.commands) yield* withSubcommands(inner);
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

it('docs/cli.md shows the help of every command', async () => {
  const { commands } = await createProgram(() => true);
  const all = [...commands].sort((a, b) => a.name().localeCompare(b.name()));
  const parts = all.map((command) => {
    const blocks = [...withSubcommands(command)].map((one) => `\`\`\`\n${helpOf(one)}\n\`\`\``);
    return `## ${fullName(command)}\n\n${blocks.join('\n\n')}\n`;
  });
  const text = `# Commands

Every command has \`--help\`; this page is made from it. An error is one line with a code, the cause and the remedy:
[errors.md](errors.md) has all of them, with the exit codes. \`--from\` and \`--to\` take UTC dates and times
(\`2024-01-31\`, \`2024-01-31T06:00Z\`), times with an offset (\`2024-01-31T06:00+02:00\`), milliseconds since 1970
(\`1706680800000\`) and ages (\`11y\`, \`90d\`, \`6h\`). Tracking a series again widens its range until it holds both.

On a terminal, \`backfill\` draws bars: one for each series, or for each exchange and interval if there are many.
The time that the rest takes is known after half a minute. \`NO_COLOR\` and
\`FORCE_COLOR\` are respected. In a pipe, or with \`TERM=dumb\`, the output is plain lines.
On a
narrow terminal tables omit columns, and long lines break between words: [screens.md](screens.md) shows screens of 80 and
120 columns.

Progress goes to standard error, and the result to standard output. A command that has printed nothing for a second says
on standard error what it does, such as \`connecting to the database\` or \`refreshing the rollups\`: on a terminal in a line
that the next output replaces, elsewhere in a line that is repeated every 10 s.

\`source <(tidemark complete bash)\` completes commands, options and the names of series in bash, and needs no package.
\`source <(tidemark complete zsh)\` does so in zsh after \`compinit\`, and \`tidemark complete fish | source\` in fish.
\`tidemark\` must be in the search path. Series are read from \`DATABASE_URL\`: they are not suggested with the embedded
database.

## Documents of --json

The schemas are JSON Schemas of draft 2020-12. Times are ISO 8601 in UTC; an exact value is text. A document is written to
standard output even when the command fails with an exit code of its outcome; any other error prints no document.

| schema | document |
|---|---|
${Object.entries(documents)
  .map(([name, { description = '' }]) => `| [${name}](json/${name}.schema.json) | ${description} |`)
  .join('\n')}

${parts.join('\n')}`;
  await expect(text).toMatchFileSnapshot('../../docs/cli.md');
});

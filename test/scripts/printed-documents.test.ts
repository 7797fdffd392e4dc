import { expect, it } from 'vitest';
import { documents } from '../../scripts/output/documents.ts';
import { createProgram } from '../../scripts/program.ts';
import { documentOf } from './printed-documents.ts';

it('every command with --json prints a document, which tests check where they run it', async () => {
  const { commands } = await createProgram(() => true);
  const named = commands.flatMap((command) =>
    [command, ...command.commands].flatMap((one) => {
      const words = one === command ? [one.name()] : [command.name(), one.name()];
      return one.options.some(({ long }) => long === '--json') ? [documentOf([...words, '--json'])] : [];
    }),
  );
  const others = ['backfill candles --dry-run --json', 'notify --test --json'].map((words) =>
    documentOf(words.split(' ')),
  );
  const found = [...named, ...others];
  expect([...new Set(found)].sort()).toEqual(Object.keys(documents).sort());
  expect(documentOf(['gaps'])).toBeNull();
});

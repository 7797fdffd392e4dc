/** docs/configuration.md and .env.example are generated from settings/environment.ts by `npm run docs`. */

import { expect, it } from 'vitest';
import type { z } from 'zod';
import { secretVariables, sections } from '../../settings/environment.ts';

interface Variable {
  readonly name: string;
  readonly meaning: string;
  /** Empty: there is no fixed default. */
  readonly byDefault: string;
}

function variablesOf(section: Readonly<Record<string, z.ZodType>>): Variable[] {
  return Object.entries(section).map(([name, type]) => {
    if (type.description === undefined) throw new Error(`${name} has no description`);
    return { name, meaning: type.description, byDefault: defaultOf(type) };
  });
}

/** The text for an absent variable. */
function defaultOf(type: z.core.$ZodType): string {
  const { def } = type._zod as { def: z.core.$ZodTypeDef & { defaultValue?: unknown; in?: z.core.$ZodType } };
  if (def.type === 'prefault') return String(def.defaultValue);
  return def.type === 'pipe' && def.in !== undefined ? defaultOf(def.in) : '';
}

function page(): string {
  const parts = Object.entries(sections).map(([title, section]) => {
    const rows = variablesOf(section).map(
      ({ name, byDefault, meaning }) =>
        `| \`${name}\` | ${byDefault === '' ? '' : `\`${byDefault}\``} | ${meaning.replaceAll('|', '\\|')} |`,
    );
    return `## ${title}\n\n| variable | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `# Configuration

Tidemark reads environment variables, and a \`.env\` file in the working directory. A variable of the environment takes
precedence over the file; an empty value counts as absent. An invalid value is refused at start, by name; a variable
of an earlier version has no effect, and is named with what holds in its place. The watch list
([watch-list.md](watch-list.md)) sets what is tracked.

Those that hold a secret may name a file that has the value in place of it, such as a mounted secret:
${secretVariables.map((name) => `\`${name}_FILE\``).join(', ')}.

${parts.join('\n')}`;
}

function example(): string {
  const parts = Object.entries(sections).map(([title, section]) => {
    const lines = variablesOf(section).map(({ name, byDefault, meaning }) => {
      const comment = wrapped(meaning.replaceAll('`', ''));
      return `${comment.map((line) => `# ${line}`).join('\n')}\n${name}=${byDefault}`;
    });
    return `# --- ${title} ${'-'.repeat(110 - title.length)}\n${lines.join('\n')}\n`;
  });
  return `# Every variable that Tidemark reads. Copy this file to .env and change what you need. An empty value counts as absent.\n\n${parts.join('\n')}`;
}

function wrapped(text: string): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length > 116) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

it('docs/configuration.md states every variable with its default and meaning', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/configuration.md');
});

it('.env.example states every variable with its default and meaning', async () => {
  await expect(example()).toMatchFileSnapshot('../../.env.example');
});

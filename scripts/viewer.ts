/** `tidemark viewer ROLE`: a role of the database for those who only look. */

import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { TidemarkError } from '../errors.ts';
import { grantViewer } from '../store/viewer-role.ts';
import { openSession } from './session.ts';

export function viewerCommand(program: Command): void {
  program
    .command('viewer')
    .description(
      'make a role of the database that may look at all data and change nothing, such as for Grafana',
    )
    .argument('<role>', 'its name; asked for again, it has its rights anew, as after an upgrade')
    .option('--password-file <file>', 'file that holds its password; without, a new role has none')
    .action(run);
}

async function run(role: string, options: { passwordFile?: string }): Promise<void> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(role) || role.startsWith('pg_'))
    throw new TidemarkError(
      'BAD_ARGUMENT',
      `${JSON.stringify(role)} is no name of a role: letters, digits and _`,
    );
  const password = options.passwordFile === undefined ? null : passwordIn(options.passwordFile);
  const session = await openSession({ command: 'viewer', defaultLogLevel: 'warn' });
  try {
    const isNew = await grantViewer(session.database, { role, password });
    console.log(`${isNew ? 'made' : 'there is'} the role ${role}, which may read what is for people`);
  } finally {
    await session.close();
  }
}

function passwordIn(file: string): string {
  let password: string;
  try {
    password = readFileSync(file, 'utf8').trim();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TidemarkError('BAD_ARGUMENT', `--password-file: ${why}`, {
      cause: error,
      remedy: 'name a file that this user may read',
    });
  }
  if (password !== '') return password;
  throw new TidemarkError('BAD_ARGUMENT', `--password-file ${file} is empty`);
}

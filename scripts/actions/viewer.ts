/** `tidemark viewer ROLE`: creates a read-only database role. */

import { readFileSync } from 'node:fs';
import { badArgument, messageOf, TidemarkError } from '../../errors.ts';
import { withContext } from '../../runtime/context.ts';
import { countPublicFunctions } from '../../schema/public-functions.ts';
import { grantViewer } from '../../schema/roles.ts';

export async function run(role: string, options: { passwordFile?: string; serves?: true }): Promise<void> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(role) || role.startsWith('pg_'))
    throw badArgument(`invalid role name ${JSON.stringify(role)}: use lower-case letters, digits and _`);
  const password = options.passwordFile === undefined ? null : passwordIn(options.passwordFile);
  await withContext({ command: 'viewer', needsDatabase: true }, async (context) => {
    const isNew = await grantViewer(context.database, { role, password, serves: options.serves === true });
    console.log(`${isNew ? 'created' : 'updated'} read-only role ${JSON.stringify(role)}`);
    if ((await countPublicFunctions(context.database.pool)) > 0)
      console.error(
        'every role may call functions that write, such as lo_create or add_job: `tidemark migrate` revokes them ' +
          'when a superuser runs it',
      );
  });
}

function passwordIn(file: string): string {
  let password: string;
  try {
    password = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new TidemarkError('BAD_ARGUMENT', `--password-file: ${messageOf(error)}`, {
      cause: error,
      remedy: 'name a file that this user may read',
    });
  }
  if (password !== '') return password;
  throw badArgument(`--password-file ${file} is empty`);
}

/** Who may read: `tidemark keys list|approve|issue|revoke`, of the service, and `tidemark viewer`, of the database. */

import { badArgument } from '../../errors.ts';
import { formatTime } from '../../model/format.ts';
import { withContext } from '../../runtime/context.ts';
import { grantLogin } from '../../schema/login-roles.ts';
import { countPublicFunctions } from '../../schema/public-functions.ts';
import { allKeys, approveKey, issueKey, type KeyEntry, revokeKey } from '../../service/keys.ts';
import type { Database } from '../../store/db/database.ts';
import { passwordIn } from '../input/password-file.ts';
import type { JsonDocument } from '../output/documents.ts';
import { type Column, table, terminalWidth } from '../output/table.ts';

export async function list(options: { json?: true }): Promise<void> {
  await withDatabase(async (database) => {
    const keys: JsonDocument<'keys'> = await allKeys.on(database.pool, {});
    if (options.json) console.log(JSON.stringify(keys, null, 2));
    else console.log(keys.length === 0 ? 'no key was requested or issued' : table(columns, keys, terminalWidth()));
  });
}

const columns: ReadonlyArray<Column<KeyEntry>> = [
  { title: 'id', value: (key) => String(key.id), right: true },
  { title: 'state', value: (key) => key.state },
  { title: 'name', value: (key) => key.name, shorten: 'end' },
  { title: 'address', value: (key) => key.address ?? '', shorten: 'middle' },
  { title: 'since', value: (key) => formatTime(key.revokedAtMs ?? key.issuedAtMs ?? key.requestedAtMs) },
  // A purpose may have several lines.
  { title: 'purpose', value: (key) => (key.purpose ?? '').replaceAll(/\s+/g, ' '), shorten: 'end' },
];

export interface IssueOptions {
  readonly name: string;
  readonly address?: string;
  readonly purpose?: string;
}

export async function issue(options: IssueOptions): Promise<void> {
  if (options.name.trim() === '') throw badArgument('--name is empty');
  await withDatabase(async (database) => {
    const { id, key } = await issueKey(database.pool, {
      name: options.name.trim(),
      address: options.address ?? null,
      purpose: options.purpose ?? null,
    });
    show(key, id);
  });
}

/** @param id of the request. */
export async function approve(id: string): Promise<void> {
  await withDatabase(async (database) => show(await approveKey(database.pool, idOf(id)), idOf(id)));
}

/** @param id of the key or of the request. */
export async function revoke(id: string): Promise<void> {
  await withDatabase(async (database) => {
    await revokeKey(database.pool, idOf(id));
    console.log(`revoked key ${id}`);
  });
}

/** Prints only the key on standard output, so that it can be piped. */
function show(key: string, id: number): void {
  console.error(`key ${id} issued; it is not stored and cannot be shown again:`);
  console.log(key);
}

function idOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw badArgument(`${JSON.stringify(text)} is not the id of a key`);
}

async function withDatabase(work: (database: Database) => Promise<void>): Promise<void> {
  await withContext({ command: 'keys', needsDatabase: true }, async (context) => {
    await work(context.database);
  });
}

/** Creates a read-only database role. */
export async function viewer(role: string, options: { passwordFile?: string; serves?: true }): Promise<void> {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(role) || role.startsWith('pg_'))
    throw badArgument(`invalid role name ${JSON.stringify(role)}: use lower-case letters, digits and _`);
  const password = options.passwordFile === undefined ? null : passwordIn('--password-file', options.passwordFile);
  await withContext({ command: 'viewer', needsDatabase: true }, async (context) => {
    const kind = options.serves === true ? 'service' : 'viewer';
    const isNew = await grantLogin(context.database, { role, kind, password }, null);
    console.log(`${isNew ? 'created' : 'updated'} read-only role ${JSON.stringify(role)}`);
    if ((await countPublicFunctions(context.database.pool)) > 0)
      console.error(
        'every role may call functions that write, such as lo_create or add_job: `tidemark migrate` revokes them ' +
          'when a superuser runs it',
      );
  });
}

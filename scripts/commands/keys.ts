/** `tidemark keys list|approve|issue|revoke`: the keys of the service. */

import type { Command } from 'commander';
import { TidemarkError } from '../../errors.ts';
import { formatTime } from '../../format.ts';
import { withContext } from '../../runtime/context.ts';
import { approveKey, issueKey, type KeyEntry, listKeys, revokeKey } from '../../store/auth/keys.ts';
import type { Database } from '../../store/db/database.ts';
import type { JsonDocument } from '../output/documents.ts';
import { type Column, table, terminalWidth } from '../output/table.ts';

export function keysCommand(program: Command): void {
  const keys = program.command('keys');
  keys
    .command('list', { isDefault: true })
    .description('list requested, issued and revoked keys')
    .option('--json', 'for programs')
    .action(list);
  keys
    .command('approve')
    .description('issue the key of a request; it is shown once')
    .argument('<id>', 'id of the request, as `keys list` shows it')
    .action((id: string) =>
      withDatabase(async (database) => show(await approveKey(database.pool, idOf(id)), idOf(id))),
    );
  keys
    .command('issue')
    .description('issue a key without a request; it is shown once')
    .requiredOption('--name <name>', 'whose it is')
    .option('--address <address>', 'where that one is reached')
    .option('--purpose <text>', 'what it is for')
    .action(issue);
  keys
    .command('revoke')
    .description('revoke a key or reject a request; takes effect within two seconds')
    .argument('<id>', 'id of the key, as `keys list` shows it')
    .action((id: string) =>
      withDatabase(async (database) => {
        await revokeKey(database.pool, idOf(id));
        console.log(`revoked key ${id}`);
      }),
    );
}

async function list(options: { json?: true }): Promise<void> {
  await withDatabase(async (database) => {
    const keys: JsonDocument<'keys'> = await listKeys(database.pool);
    if (options.json) console.log(JSON.stringify(keys, null, 2));
    else
      console.log(
        keys.length === 0 ? 'no key was requested or issued' : table(columns, keys, terminalWidth()),
      );
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

async function issue(options: { name: string; address?: string; purpose?: string }): Promise<void> {
  if (options.name.trim() === '') throw new TidemarkError('BAD_ARGUMENT', '--name is empty');
  await withDatabase(async (database) => {
    const { id, key } = await issueKey(database.pool, {
      name: options.name.trim(),
      address: options.address ?? null,
      purpose: options.purpose ?? null,
    });
    show(key, id);
  });
}

/** Prints only the key on standard output, so that it can be piped. */
function show(key: string, id: number): void {
  console.error(`key ${id} issued; it is not stored and cannot be shown again:`);
  console.log(key);
}

function idOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new TidemarkError('BAD_ARGUMENT', `${JSON.stringify(text)} is not the id of a key`);
}

async function withDatabase(work: (database: Database) => Promise<void>): Promise<void> {
  await withContext({ command: 'keys', defaultLogLevel: 'warn' }, async (context) => {
    await work(context.database);
  });
}

import type { Command } from 'commander';
import type { IssueOptions } from '../actions/keys.ts';

export function keysCommand(keys: Command): void {
  keys
    .command('list', { isDefault: true })
    .description('list requested, issued and revoked keys')
    .option('--json', 'for programs')
    .action(async (options: { json?: true }) => (await import('../actions/keys.ts')).list(options));
  keys
    .command('approve')
    .description('issue the key of a request; it is shown once')
    .argument('<id>', 'id of the request, as `keys list` shows it')
    .action(async (id: string) => (await import('../actions/keys.ts')).approve(id));
  keys
    .command('issue')
    .description('issue a key without a request; it is shown once')
    .requiredOption('--name <name>', 'whose it is')
    .option('--address <address>', 'where that one is reached')
    .option('--purpose <text>', 'what it is for')
    .action(async (options: IssueOptions) => (await import('../actions/keys.ts')).issue(options));
  keys
    .command('revoke')
    .description('revoke a key or reject a request; takes effect within two seconds')
    .argument('<id>', 'id of the key, as `keys list` shows it')
    .action(async (id: string) => (await import('../actions/keys.ts')).revoke(id));
}

export function viewerCommand(command: Command): void {
  command
    .argument('<role>', 'name of the role; for an existing role renews its rights, as after an upgrade')
    .option('--password-file <file>', 'file with the password (default: none for a new role)')
    .option('--serves', '`tidemark serve` may connect as this role instead of as the owner')
    .action(async (role: string, options: { passwordFile?: string; serves?: true }) =>
      (await import('../actions/keys.ts')).viewer(role, options),
    );
}

import type { Command } from 'commander';

export function viewerCommand(command: Command): void {
  command
    .argument('<role>', 'name of the role; for an existing role renews its rights, as after an upgrade')
    .option('--password-file <file>', 'file with the password (default: none for a new role)')
    .option('--serves', '`tidemark serve` may connect as this role instead of as the owner')
    .action(async (role: string, options: { passwordFile?: string; serves?: true }) =>
      (await import('../actions/viewer.ts')).run(role, options),
    );
}

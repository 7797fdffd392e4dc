import type { Command } from 'commander';

export function serveCommand(command: Command): void {
  command
    .option('--port <port>', 'port to listen on; 0 takes a free one (default: SERVE_PORT)')
    .option('--host <address>', 'address to listen on (default: SERVE_HOST)')
    .action(async (options: { port?: string; host?: string }) => (await import('../actions/serve.ts')).run(options));
}

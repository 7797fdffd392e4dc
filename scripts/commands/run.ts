import type { Command } from 'commander';
import { parseWhole } from '../input/parse-options.ts';

export function runCommand(command: Command): void {
  command
    .option('--no-serve', 'without the service')
    .option('--port <port>', 'port of the service; 0 takes a free one (default: SERVE_PORT)')
    .action(async ({ serve: service, port: text }: { serve: boolean; port?: string }) => {
      const port = text === undefined ? undefined : parseWhole(text, '--port', 0, 65_535);
      await (await import('../actions/run.ts')).run('run', { scheduler: true, worker: true, service, port });
    });
}

export function schedulerCommand(command: Command): void {
  command.action(async () => (await import('../actions/run.ts')).run('scheduler', { scheduler: true, worker: false }));
}

export function workerCommand(command: Command): void {
  command
    .option('--concurrency <count>', 'concurrent requests (default: WORKER_CONCURRENCY)')
    .action(async ({ concurrency: text }: { concurrency?: string }) => {
      const concurrency = text === undefined ? undefined : parseWhole(text, '--concurrency', 1, 256);
      await (await import('../actions/run.ts')).run('worker', { scheduler: false, worker: true, concurrency });
    });
}

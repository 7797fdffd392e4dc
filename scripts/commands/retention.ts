import type { Command } from 'commander';
import { storedWords } from '../../model/stored-datasets.ts';

export function retentionCommand(retention: Command): void {
  retention.helpCommand(false);
  retention
    .command('show', { isDefault: true })
    .description('show the retention of each dataset')
    .action(async () => (await import('../actions/retention.ts')).show());
  retention
    .command('set')
    .description('drop older points, now and once a day')
    .argument('<dataset>', Object.values(storedWords).join(', '))
    .argument('<age>', 'such as 2y, 18w or 90d')
    .option('--confirm <dataset>', 'the name of the dataset, to confirm without a prompt')
    .action(async (dataset: string, age: string, options: { confirm?: string }) =>
      (await import('../actions/retention.ts')).set(dataset, age, options),
    );
  retention
    .command('off')
    .description('keep a dataset forever again')
    .argument('<dataset>', Object.values(storedWords).join(', '))
    .action(async (dataset: string) => (await import('../actions/retention.ts')).off(dataset));
}

import { Argument, type Command } from 'commander';
import { completionScripts, isShell } from '../output/completion-scripts.ts';

export function completeCommand(command: Command): void {
  command
    .addArgument(new Argument('<shell>', 'whose script to print').choices(Object.keys(completionScripts)))
    .action((shell: string) => {
      if (isShell(shell)) process.stdout.write(completionScripts[shell]);
    });
}

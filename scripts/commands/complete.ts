/** Arguments and options of `tidemark complete`. */

import { Argument, type Command } from 'commander';
import { completionScripts, isShell } from '../output/completion-scripts.ts';

/** @param words to complete, the last one being typed; absent: print a script. */
export async function completeCommand(program: Command, words?: readonly string[]): Promise<void> {
  if (words !== undefined) return (await import('../actions/complete.ts')).addSuggestions(program, words);
  program
    .command('complete')
    .addArgument(new Argument('<shell>', 'whose script to print').choices(Object.keys(completionScripts)))
    .action((shell: string) => {
      if (isShell(shell)) process.stdout.write(completionScripts[shell]);
    });
}

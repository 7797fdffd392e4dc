#!/usr/bin/env node
/** The command line: every command in a file of its own beside this one. */

import { Command } from 'commander';
import { readConfig } from '../config.ts';
import { secretsOf } from '../log.ts';
import { applyCommand } from './apply.ts';
import { backfillCommand } from './backfill.ts';
import { boardCommand } from './board.ts';
import { demoCommand } from './demo.ts';
import { exportCommand } from './export.ts';
import { gapsCommand } from './gaps.ts';
import { importCommand } from './import.ts';
import { keysCommand } from './keys.ts';
import { migrateCommand } from './migrate.ts';
import { moveCommand } from './move.ts';
import { planCommand } from './plan.ts';
import { repairCommand } from './repair.ts';
import { reportError } from './report.ts';
import { retentionCommand } from './retention.ts';
import { serveCommand } from './serve.ts';
import { serviceCommands } from './services.ts';
import { simulateCommand } from './simulate.ts';
import { statusCommand } from './status.ts';
import { trackCommand } from './track.ts';
import { untrackCommand } from './untrack.ts';
import { reportUnwrittenOutput } from './unwritten-output.ts';
import { verifyCommand } from './verify.ts';
import { version } from './version.ts';
import { viewerCommand } from './viewer.ts';
import { whyCommand } from './why.ts';

const exitCodesHelp = `
Exit codes:
  0    done
  1    a defect of Tidemark's own
  2    a wrong argument or variable; nothing was done
  3    the work ended and something is still missing
  4    the source refused, could not be reached, or is no Market Data Service
  5    the database could not be used
  6    the queue could not be used
  7    what is stored is not what the source gives, or not what an imported file has
  8    a file could not be written, or is not what it should be
  130  interrupted before the work was complete

Configuration is by environment variables, or a .env file: see .env.example.`;

const program = new Command('tidemark')
  .description("An exact, complete copy of a market data service's history in your own TimescaleDB.")
  .version(version)
  .helpCommand(false)
  .showSuggestionAfterError()
  .exitOverride()
  .configureOutput({ writeErr: (text) => writeUnlessError(text) })
  .addHelpText('after', exitCodesHelp);

migrateCommand(program);
trackCommand(program);
untrackCommand(program);
applyCommand(program);
backfillCommand(program);
planCommand(program);
serviceCommands(program);
statusCommand(program);
gapsCommand(program);
whyCommand(program);
verifyCommand(program);
repairCommand(program);
exportCommand(program);
importCommand(program);
moveCommand(program);
retentionCommand(program);
serveCommand(program);
keysCommand(program);
viewerCommand(program);
boardCommand(program);
simulateCommand(program);
demoCommand(program);

reportUnwrittenOutput();
process.stderr.on('error', () => {});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportError(error, knownSecrets());
}
// A connection that a server's absence left half open must not keep the process.
setTimeout(() => process.exit(), 3000).unref();

/** Help goes to the terminal; complaints are printed once, by `reportError`. */
function writeUnlessError(text: string): void {
  if (!text.startsWith('error:')) process.stderr.write(text);
}

function knownSecrets(): string[] {
  try {
    return secretsOf(readConfig(process.env));
  } catch {
    return [process.env.SOURCE_API_KEY ?? ''].filter((secret) => secret !== '');
  }
}

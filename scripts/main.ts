/** What the command line does once Node is new enough. */

import { systemClock } from '../clock.ts';
import { exitCodes } from '../errors.ts';
import { isCutOff } from '../files/output.ts';
import { reportUnwrittenOutput } from './output/report-error.ts';
import { runCommandLine } from './program.ts';

reportUnwrittenOutput();
process.stderr.on('error', () => {});

const exitCode = await runCommandLine(process.argv.slice(2));
// A command that was interrupted has set its own.
if (exitCode !== exitCodes.ok) process.exitCode = exitCode;
// What a stalled reader did not take would keep the process alive.
if (isCutOff()) process.exit();
// A half-open connection must not keep the process alive.
systemClock.every(3000, () => process.exit());

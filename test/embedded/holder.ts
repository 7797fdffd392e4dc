/** A command that uses the embedded database: it acquires it, reports that, and releases it when its input ends. */

import { once } from 'node:events';
import { systemClock } from '../../clock.ts';
import { acquireEmbeddedDatabase } from '../../embedded/acquire.ts';

const [, , directory = ''] = process.argv;
const log = (line: string) => console.log(`log: ${line}`);
const { url, release } = await acquireEmbeddedDatabase({ clock: systemClock, directory, log });
console.log(`holds ${url}.`);
process.stdin.resume();
await once(process.stdin, 'end');
await release();
console.log('released');

/**
 * A command that uses the embedded database: it acquires it, reports that, and releases it when its input
 * ends.
 */

import { once } from 'node:events';
import { acquireEmbeddedDatabase } from '../../../store/embedded/acquire.ts';

const [, , directory = ''] = process.argv;
const { url, release } = await acquireEmbeddedDatabase({
  directory,
  log: (line) => console.log(`log: ${line}`),
});
console.log(`holds ${url}.`);
process.stdin.resume();
await once(process.stdin, 'end');
await release();
console.log('released');

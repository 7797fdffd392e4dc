/** A command that uses the embedded database: takes it, says so, and gives it back when its input ends. */

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

/** The thread of `encoder.ts`: filled columns come in, which it shares with the other one, and encoded bytes go out. */

import { setFlagsFromString } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import type { FilledColumn } from './columns.ts';
import { encodeGroup, loadCompression } from './pages.ts';

// Every row that is read leaves some objects at once, and the space for new ones would grow to 48 MB. For the whole
// process: set before it has a thread, it is set back by the start of this one.
setFlagsFromString('--semi-space-growth-factor=1');
// Messages wait until there is a listener.
await loadCompression();
parentPort?.on('message', (columns: readonly FilledColumn[]) => {
  const group = encodeGroup(columns);
  parentPort?.postMessage(group, [group.bytes.buffer as ArrayBuffer]);
});

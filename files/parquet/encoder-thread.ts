/** The thread of `encoder.ts`: filled columns come in, which it shares with the other one, and encoded bytes go out. */

import { parentPort } from 'node:worker_threads';
import type { FilledColumn } from './columns.ts';
import { encodeGroup, loadCompression } from './pages.ts';

// Messages wait until there is a listener.
await loadCompression();
parentPort?.on('message', (columns: readonly FilledColumn[]) => {
  const group = encodeGroup(columns);
  parentPort?.postMessage(group, [group.bytes.buffer as ArrayBuffer]);
});

/** Reads a Parquet file to its end, and prints its rows and the peak of memory in MiB. Argument: the file. */

import { openRows } from '../../../files/formats.ts';
import { lengthOf } from '../../../files/point-pages.ts';
import { peakMemoryKib } from '../../parts/peak-memory.ts';

const [path = ''] = process.argv.slice(2);
let rows = 0;
for await (const page of (await openRows(path, 'parquet', 'candles')).pages()) rows += lengthOf(page);
console.log(`rows ${rows} peak ${Math.round(peakMemoryKib() / 1024)}`);
process.exit();

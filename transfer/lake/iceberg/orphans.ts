/** What processes that were killed have left in the tables of a lake: files that neither it nor a snapshot names. */

import { datasetNames } from '../../../model/datasets/index.ts';
import { fileOf, type Lake, monthsOf } from '../manifest.ts';
import { tablePath } from '../paths.ts';
import type { LakeStorage } from '../storage/storage.ts';
import { hintPath, manifestOfList, metadataPath, pathWithin, readTable } from './table.ts';

/** Removes them. @throws TidemarkError FILE_NOT_USABLE, FILE_NOT_WRITTEN */
export async function removeOrphans(storage: LakeStorage, lake: Lake): Promise<void> {
  const known = new Set(lake.superseded.keys());
  for (const { of, month } of monthsOf(lake)) known.add(fileOf(lake, of, month) ?? '');
  for (const dataset of datasetNames) {
    const table = await readTable(storage, dataset);
    if (table === null) continue;
    known.add(hintPath(dataset)).add(metadataPath(dataset, table.version));
    for (const entry of table.metadata.snapshots) {
      const list = pathWithin(dataset, entry['manifest-list']);
      known.add(list).add(manifestOfList(list));
    }
    for (const entry of table.metadata['metadata-log']) known.add(pathWithin(dataset, entry['metadata-file']));
    for await (const path of storage.list(tablePath(dataset)))
      if (isOurs.test(path) && !known.has(path)) await storage.remove(path);
  }
}

/** Names that only a lake gives. */
const isOurs = /-[0-9a-f]{16}\.parquet$|\/metadata\/(?:[0-9a-f-]{36}-m0\.avro|snap-\d+-[0-9a-f-]{36}\.avro)$/;

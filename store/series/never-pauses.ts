/** Series that never pause: each period of theirs, or each interval, has a point (planning/proof.ts). */

import { datasetNames } from '../../model/datasets/index.ts';
import { proofOf } from '../../planning/proof.ts';

const names = datasetNames.filter((dataset) => !proofOf({ dataset, interval: 'h1' }).mayPause);

/**
 * As SQL, the multirange of `tidemark.series s` in which no silence is a pause; empty where the series may pause.
 *
 * @param earliest of its points; null in SQL: it has none.
 */
export const neverPauses = (earliest = 's.earliest', newest = 's.newest') =>
  `case when s.dataset in (${names.map((name) => `'${name}'`).join(', ')}) and ${earliest} is not null
        then tstzmultirange(tstzrange(${earliest}, ${newest})) else '{}' end`;

/** The derived objects besides the rollups: views and functions. */

import { behindObjects } from '../rollups/behind.ts';
import { averages, vwap } from './averages.ts';
import { currencies } from './currencies.ts';
import { type DerivedObject, objectsIn } from './derived-object.ts';
import { figures, lines } from './lines.ts';
import { names, refusals } from './names.ts';
import { ohlcv } from './ohlcv.ts';
import { completeness, ranges } from './ranges.ts';
import { correlation, returns, seasonality } from './returns.ts';
import { revisions } from './revisions.ts';
import { snapshots } from './snapshots.ts';
import { statements } from './statements.ts';
import { viewObjects } from './views.ts';

/** In the order of creation. @param timescale whether the points are a hypertable. */
export const derivedObjects = (timescale: boolean): readonly DerivedObject[] => [
  ...behindObjects,
  ...viewObjects(timescale),
  ...[
    names,
    refusals,
    lines,
    ranges,
    statements,
    figures,
    ohlcv,
    returns,
    averages,
    vwap,
    correlation,
    currencies,
    seasonality,
    completeness,
    revisions,
    snapshots,
  ].flatMap(objectsIn),
];

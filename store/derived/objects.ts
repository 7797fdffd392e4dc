/** What is derived from the tables beside the rollups: views and functions. */

import { averages } from './averages.ts';
import { behindObjects } from './behind.ts';
import { completeness } from './completeness.ts';
import { correlation } from './correlation.ts';
import { currencies } from './currencies.ts';
import type { DerivedObject } from './derived-object.ts';
import { figures } from './figures.ts';
import { lines } from './lines.ts';
import { names } from './names.ts';
import { ohlcv } from './ohlcv.ts';
import { ranges } from './ranges.ts';
import { refusals } from './refusals.ts';
import { returns } from './returns.ts';
import { revisions } from './revisions.ts';
import { objectsIn } from './routines.ts';
import { seasonality } from './seasonality.ts';
import { statements } from './statements.ts';
import { viewObjects } from './views.ts';
import { vwap } from './vwap.ts';

/** In the order of making them. @param timescale whether the points are a hypertable. */
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
  ].flatMap(objectsIn),
];

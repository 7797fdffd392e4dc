/** Everything that is derived from the tables, save the rollups: in the order of making it. */

import { behindObjects } from './behind.ts';
import type { DerivedObject } from './derived-object.ts';
import { viewObjects } from './views.ts';

export const derivedObjects: readonly DerivedObject[] = Object.freeze([...viewObjects, ...behindObjects]);

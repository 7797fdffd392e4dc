/** Before each file: properties of `fc.assert` draw from the seed of the run. A failure prints seed and path. */

import fc from 'fast-check';
import { seedNumber } from './seed.ts';

fc.configureGlobal({ seed: seedNumber('properties') });

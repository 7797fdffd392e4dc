/** The grace that earlier versions stored. */

export { graceMs as defaultGraceMs } from '../../model/intervals.ts';

export const graceSetting = 'grace_ms';

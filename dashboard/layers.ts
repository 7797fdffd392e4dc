/** The layers of a band, in drawing order, so that a gap of one minute is visible in eleven years. */
export const layers = ['tracked', 'covered', 'empty', 'gap', 'failed', 'queued', 'active'] as const;
export type Layer = (typeof layers)[number];

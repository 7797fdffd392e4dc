/**
 * Links that are stored: what a point says of the one before it, in a source that states it, counts for the same point
 * of a source that does not.
 */

import type pg from 'pg';
import { byDataset } from '../../model/datasets/index.ts';
import { int4, numeric, statement, time } from '../db/statement.ts';
import { linkedBy, type PreparedWindow } from './prepare-window.ts';

/** The window with the links that its answer does not state and the store has. */
export async function withStoredLinks<Of extends PreparedWindow>(client: pg.PoolClient, window: Of): Promise<Of> {
  const { seriesId, series, asks } = window.window;
  const { points } = window.stated;
  const stored = storedLinks[series.dataset];
  if (stored === null || points.every(({ linkMs }) => linkMs !== null)) return window;
  const found = await stored.links.on(client, { seriesId, start: asks.startMs, end: asks.endMs });
  const links = new Map(found.map(({ timeMs, link }) => [timeMs, Number(link) * stored.unitMs]));
  if (links.size === 0) return window;
  const known = points.map(({ timeMs, linkMs }) => ({ timeMs, linkMs: linkMs ?? links.get(timeMs) ?? null }));
  return { ...window, ...linkedBy(known, window) };
}

const storedLinks = byDataset(({ table, time: rule }, dataset) => {
  if (rule.density !== 'linked') return null;
  const { column, unitMs } = rule.link;
  const links = statement({
    name: `stored-links-${dataset}`,
    isPlannedAnew: true,
    text: `select time as "timeMs", ${column} as link from tidemark.${table}
           where series_id = $seriesId and time >= $start and time < $end and ${column} is not null`,
    parameters: { seriesId: int4, start: time, end: time },
    row: { timeMs: time, link: numeric },
  });
  return { links, unitMs };
});

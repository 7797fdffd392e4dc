/** Deferred windows of a preferred source that the sources after it do not keep. */

import { int4, ranges, statement, text } from '../db/statement.ts';
import { isLackOfBetterSource } from '../series/sources.ts';

/**
 * Says of what a preferred source could not give that this source does not keep it either. The reason of the preferred
 * source and its next request stay.
 */
export const findNowhereElse = statement({
  name: 'find-nowhere-else',
  text: `
    with lacks as materialized (
      select p.*, tstzmultirange(p.range) * $lost as parts,
             tstzmultirange(p.range) - s.covered - coalesce((
               select range_agg(found.range) from tidemark.pending_windows found
               where found.series_id = s.id and found.reason = 'not_elsewhere'), '{}') as open
      from tidemark.pending_windows p join tidemark.series s on s.id = p.series_id
      where s.id = $seriesId and ${isLackOfBetterSource('$source')}
    ), parted as (
      delete from tidemark.pending_windows p using lacks l
      where p.series_id = l.series_id and p.range = l.range and l.open <@ $lost and l.parts <> tstzmultirange(l.range)
    )
    insert into tidemark.pending_windows as p
      (series_id, range, reason, message, attempts, first_at, retry_at, of_covered, source)
    select series_id, part, 'not_elsewhere', concat_ws('; ', message, $message), attempts, first_at, retry_at, false,
           source
    from lacks, unnest(parts) part
    on conflict (series_id, range) do update
      set reason = excluded.reason, kind = null, message = excluded.message, of_covered = false`,
  parameters: { seriesId: int4, lost: ranges, message: text, source: text },
});

/** The newest answers by which a source refused a request, from the ledger. */

import type { Lane } from '../../model/lanes.ts';
import { int4, nullable, oneOf, type RowOf, range, statement, text, time } from '../db/statement.ts';
import { seriesNameSql } from '../series/series.ts';

/** What a source says no to: this rate, key, address, country, series or request, or all of them. */
const kinds = [
  'rate_limited',
  'unauthorized',
  'address_refused',
  'country_refused',
  'notice',
  'series_refused',
  'refused',
];

const row = {
  timeMs: time,
  kind: text,
  /** HTTP status; null without a response. */
  status: nullable(int4),
  lane: oneOf<Lane>(),
  /** Null: its request is of a list. */
  series: nullable(text),
  range: nullable(range),
  message: text,
};
export type LoggedRefusal = RowOf<typeof row>;

/** Newest first. */
export const readRefusals = statement({
  name: 'source-refusals',
  text: `
    select f.time as "timeMs", f.verdict as kind, f.status, f.lane,
           case when s.id is null then null else ${seriesNameSql} end as series, f.range,
           split_part(coalesce(f.error, f.verdict), E'\\n', 1) as message
    from tidemark.fetches f left join tidemark.series s on s.id = f.series_id
    where f.source = $source and f.verdict = any ('{${kinds.join(',')}}')
    order by f.time desc limit $most`,
  parameters: { source: text, most: int4 },
  row,
});

/** The names that a source is known to have: of what is listed, and of what has points. */

import { bool, listOf, statement, text } from '../db/statement.ts';

/** As planning/near-names.ts takes them. */
export const readKnownNames = statement({
  name: 'known-names',
  isPlannedAnew: true,
  text: `
    with known(exchange, asset) as (
      select exchange_id, unnest(array[base_id, quote_id, asset_id]) from tidemark.series where points > 0
      union all
      select exchange, unnest(array[base, quote]) from tidemark.listed_markets where gone_since is null
      union all
      select null, asset from public.assets where gone_since is null
    )
    select coalesce(array_agg(distinct exchange) filter (where exchange is not null), '{}') as exchanges,
           coalesce(array_agg(distinct asset) filter (where asset is not null), '{}') as assets,
           exists (select from public.assets) as "listsAssets"
    from known`,
  row: { exchanges: listOf(text), assets: listOf(text), listsAssets: bool },
});

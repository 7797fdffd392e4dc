/** Coverage and gaps with names, by which an analysis can check itself. */

import { rejectedPeriods } from '../store/ledger/quarantine.ts';
import { closedSeriesAt, gapPieces, missingRanges } from '../store/series/gaps.ts';
import { example } from './comments.ts';

const at = { now: 'now()', graceMs: '(select extract(epoch from tidemark.grace()) * 1000)' };
const names = `s.id as series_id, s.dataset, s.exchange_id as exchange, s.base_id as base, s.quote_id as quote,
         s.asset_id as asset, s.interval`;

export const completeness = `
--: view public.coverage
create or replace view public.coverage as
  with closed as (${closedSeriesAt(at.now, at.graceMs)}), measured as (
    select s.*, ${missingRanges} as missing,
           case when s.closed_up_to > lower(s.tracked) then s.tracked * tstzrange(null, s.closed_up_to) end as wanted
    from closed s
  )
  select ${names}, lower(s.tracked) as tracked_from, upper(s.tracked) as tracked_to, s.untracked_at,
         tidemark.share_covered(s.covered, s.wanted) as share,
         (select count(*)::integer from unnest(s.missing)) as gaps,
         s.covered, s.confirmed_empty, s.missing, s.points, s.earliest, s.newest, s.before_beginning,
         ${rejectedPeriods('lower(s.covered)', 'upper(s.covered)')} as rejected
  from measured s;
comment on view public.coverage is
  'Each series: the part of it that is wanted, which share of that, up to the last closed period, is covered, and what is missing.${example('select exchange, base, quote, asset, interval, share, gaps from coverage order by share')}';

--: view public.gaps
create or replace view public.gaps as
  select series_id, dataset, exchange, base, quote, asset, interval, from_time, to_time, to_time - from_time as length,
         reason, message, retry_at, source, cause
  from (select ${names}, gap_start as from_time, gap_end as to_time, reason, message, retry_at, source,
               cause
        from (${gapPieces({ ...at, which: 'true', ledger: true })}) s) named;
comment on view public.gaps is
  'Every gap of what is tracked, cut where the reason changes: not_asked, awaits_second_answer, failed, stale or blocked. The same as tidemark gaps.${example('select * from gaps order by from_time limit 10')}';
`;

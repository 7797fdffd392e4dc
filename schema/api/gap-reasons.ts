/** The reasons of gaps for statements and views: model/reasons.ts has them. */

import { type ReasonRule, reasonNames, reasons } from '../../model/reasons.ts';
import { example } from '../comments.ts';

const rows = reasonNames.map((name) => {
  const { shown, counts, isLeftToNext, isAskedAlone }: ReasonRule = reasons[name];
  return `('${name}', '${shown}', '${counts}', ${isLeftToNext}, ${isAskedAlone})`;
});

export const gapReasons = `
create or replace view tidemark.gap_reasons as
  select * from (values
    ${rows.join(',\n    ')}
  ) r (reason, shown, counts, left_to_next, asked_alone);
-- It holds constants only. A viewer that an earlier version created lists gaps without a new grant.
grant select on tidemark.gap_reasons to public;
comment on view tidemark.gap_reasons is
  'Every reason of a gap: the cause in the view gaps, and the reason that stands for it there.${example('select reason, shown from tidemark.gap_reasons')}';
`;

/** What was done at the dashboard. */

import { example } from '../comments.ts';

export const actionViews = `
create or replace view public.dashboard_actions as
  select id, time, action, request, address, user_name, state, result, ended_at from tidemark.actions;
comment on view public.dashboard_actions is
  'Actions at the dashboard: when, what, by whom, and the result.${example('select * from dashboard_actions order by time desc limit 10')}';
`;

import { listName } from '../contract/lists.ts';
import type { Rate } from '../contract/resources.ts';
import { type PollPage, rowsAskedFor } from '../planning/polls.ts';
import type { Source } from '../source/source.ts';
import type { WindowAnswer } from '../store/commit/prepare-window.ts';
import { commitPage } from '../store/lists/commit-page.ts';
import { failPoll } from '../store/lists/polls.ts';
import { commitRates } from '../store/lists/rates.ts';
import type { SnapshotRow } from '../store/lists/rows.ts';
import type { Work, WorkParts } from './work.ts';

/** One page of a list: one request. */
export function pageWork(page: PollPage, parts: WorkParts): Work<WindowAnswer<SnapshotRow>> {
  const { database, source } = parts;
  return {
    dataset: page.list.dataset,
    name: listName(page.list),
    lane: 'poll',
    window: null,
    fetch: () => fetchPage(source, page),
    async giveUp({ message, nowMs, retryAtMs }) {
      await failPoll(database, { pollId: page.pollId, message, nowMs, latestMs: retryAtMs });
    },
    commit: (answer, attempt) =>
      parts.commitSlot(() =>
        commitPage(database, {
          page,
          answer,
          attempt: attempt.number,
          nowMs: attempt.nowMs,
          confirmMs: parts.emptyConfirmMs,
        }),
      ),
  };
}

function fetchPage(source: Source, page: PollPage): Promise<WindowAnswer<SnapshotRow>> {
  const { list, firstRow } = page;
  const limit = rowsAskedFor(list);
  const asked = limit === null ? {} : { limit, offset: firstRow };
  switch (list.dataset) {
    case 'assets':
      return source.assets(asked);
    case 'exchanges':
      return source.exchanges();
    case 'markets':
      return source.markets(asked);
    case 'asset_markets':
      return source.assetMarkets(list.asset, asked);
  }
}

/** One snapshot of all rates: one request of `/rates`. */
export function ratesWork(parts: WorkParts): Work<WindowAnswer<Rate>> {
  return {
    dataset: 'rates',
    lane: 'poll',
    window: null,
    fetch: () => parts.source.rates(),
    commit: (answer, attempt) =>
      parts.commitSlot(() =>
        commitRates(parts.database, { answer, attempt: attempt.number, nowMs: attempt.nowMs }),
      ),
  };
}

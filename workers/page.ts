import { listName } from '../contract/lists.ts';
import { type PollPage, rowsAskedFor } from '../planning/polls.ts';
import type { Source } from '../source/source.ts';
import { commitPage } from '../store/snapshots/page.ts';
import { failPoll } from '../store/snapshots/polls.ts';
import type { SnapshotRow } from '../store/snapshots/rows.ts';
import type { WindowAnswer } from '../store/windows.ts';
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

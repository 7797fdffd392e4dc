/** Polls as the scheduler and a worker run them, without either. */

import { decimalText } from '../../../model/decimal.ts';
import { type EpochMs, hourMs } from '../../../model/intervals.ts';
import type { ListRow, PolledList } from '../../../model/lists/index.ts';
import type { Database } from '../../../store/db/database.ts';
import { commitPage, type PageResult } from '../../../store/lists/commit-page.ts';
import { beginPolls, type OpenPage, openPages } from '../../../store/lists/polls.ts';
import type { Asset } from '../../../v2/resources.ts';

export const assets: PolledList = { dataset: 'assets', asset: null };

/** The page to request next. @throws Error when there is none, or more than one. */
export async function onlyPage(database: Database): Promise<OpenPage> {
  const [page, other] = await openPages(database);
  if (page === undefined || other !== undefined) throw new Error('not one open page');
  return page;
}

export function answerPage(
  database: Database,
  page: OpenPage,
  rows: readonly ListRow[],
  at: { timeMs: EpochMs; nowMs?: EpochMs; rejected?: readonly { raw: string; reason: string }[] },
): Promise<PageResult> {
  const { timeMs, nowMs = timeMs, rejected = [] } = at;
  return commitPage(database, {
    page,
    answer: { rows, rejected, sourceTimeMs: timeMs, status: 200, bytes: 0, durationMs: 0 },
    attempt: 1,
    nowMs,
    confirmMs: hourMs,
  });
}

/** A whole poll of the one tracked list: the given pages, and empty ones for as long as more are requested. */
export async function poll(
  database: Database,
  timeMs: EpochMs,
  ...pages: readonly (readonly ListRow[])[]
): Promise<PageResult[]> {
  await beginPolls.on(database.pool, { nowMs: timeMs });
  const results: PageResult[] = [];
  for (let place = 0; ; place++) {
    const result = await answerPage(database, await onlyPage(database), pages[place] ?? [], { timeMs });
    results.push(result);
    if (result.verdict !== 'page') return results;
  }
}

export function assetOf(id: string, rank: number, values: Partial<Record<keyof Asset, string | null>> = {}): Asset {
  const decimals = Object.entries(values).map(([name, value]) => [name, value === null ? null : decimalText(value)]);
  const nothing = { supply: null, maxSupply: null, marketCapUsd: null, volumeUsd24Hr: null };
  const more = { priceUsd: decimalText('1.50'), changePercent24Hr: null, vwap24Hr: null };
  return { id, rank, symbol: id.toUpperCase(), name: id, ...nothing, ...more, ...Object.fromEntries(decimals) };
}

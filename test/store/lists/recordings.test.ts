import { expect, it } from 'vitest';
import type { ListRow, PolledList } from '../../../model/lists/index.ts';
import { parseExactJson } from '../../../sources/json.ts';
import { type RowReader, readAsset, readAssetMarket, readExchange } from '../../../sources/rows.ts';
import { trackList } from '../../../store/lists/lists.ts';
import { describeRecordings, recording } from '../../recordings.ts';
import { openOwnStore } from '../open-store.ts';
import { assets, poll } from './polling.ts';

interface Recorded {
  readonly name: string;
  readonly list: PolledList;
  readonly read: RowReader<ListRow>;
  /** The recorded row's fields of the columns, by the names of the view. */
  readonly fields: Readonly<Record<string, string>>;
}

const lists: readonly Recorded[] = [
  {
    name: 'assets-default100-20211110',
    list: assets,
    read: readAsset,
    fields: {
      asset: 'id',
      rank: 'rank',
      symbol: 'symbol',
      name: 'name',
      supply: 'supply',
      max_supply: 'maxSupply',
      market_cap_usd: 'marketCapUsd',
      volume_usd_24hr: 'volumeUsd24Hr',
      price_usd: 'priceUsd',
      change_percent_24hr: 'changePercent24Hr',
      vwap_24hr: 'vwap24Hr',
    },
  },
  {
    name: 'exchanges-full-20211031',
    list: { dataset: 'exchanges', asset: null },
    read: readExchange,
    fields: {
      exchange: 'exchangeId',
      name: 'name',
      rank: 'rank',
      percent_total_volume: 'percentTotalVolume',
      volume_usd: 'volumeUsd',
      trading_pairs: 'tradingPairs',
      socket: 'socket',
      exchange_url: 'exchangeUrl',
      '(extract(epoch from updated) * 1000)::bigint': 'updated',
    },
  },
  {
    name: 'asset-markets-bitcoin-default100-20211031',
    list: { dataset: 'asset_markets', asset: 'bitcoin' },
    read: readAssetMarket,
    fields: {
      exchange_name: 'exchangeId',
      base: 'baseId',
      quote: 'quoteId',
      base_symbol: 'baseSymbol',
      quote_symbol: 'quoteSymbol',
      volume_usd_24hr: 'volumeUsd24Hr',
      price_usd: 'priceUsd',
      volume_percent: 'volumePercent',
    },
  },
];

describeRecordings('recorded lists', () => {
  it.each(lists)(
    '$name is stored verbatim with nulls and every digit, and another poll adds no row',
    async (recorded) => {
      const { name, list, read, fields } = recorded;
      const { database } = await openOwnStore();
      const came = parseExactJson(recording(name)) as { data: Readonly<Record<string, unknown>>[] };
      const rows = came.data.map((row) => {
        const known = read(row);
        if (typeof known === 'string') throw new Error(known);
        return known;
      });
      const startMs = Date.UTC(2024, 0, 1);
      await trackList(database, list, 1000);
      for (const timeMs of [startMs, startMs + 1000]) await poll(database, timeMs, rows);
      const columns = Object.keys(fields).map((column) => `${column}::text`);
      const stored = await database.pool.query<{ row: unknown[] }>(
        `select json_build_array(${columns.join(', ')}) as row from ${list.dataset}`,
      );
      const wanted = came.data.map((row) =>
        Object.values(fields).map((field) => (row[field] == null ? null : String(row[field]))),
      );
      const asText = (row: unknown) => JSON.stringify(row);
      expect(stored.rows.map(({ row }) => asText(row)).sort()).toEqual(wanted.map(asText).sort());
      const polls = await database.pool.query('select rows, changed from polls order by time');
      expect(polls.rows).toEqual([rows.length, 0].map((changed) => ({ rows: rows.length, changed })));
    },
  );
});

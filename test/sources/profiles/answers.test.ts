import { describe, expect, test } from 'vitest';
import type { Candle } from '../../../v2/resources.ts';
import { describeRecordings, recording } from '../../recordings.ts';
import { nowMs } from '../failure-at.ts';
import { candlesAt, historyAt } from '../points-at.ts';
import { market, symbols, venueAt } from './venue-at.ts';

async function candles(name: string, body: unknown, interval: 'm1' | 'h1' | 'w1' = 'm1') {
  const { source } = await venueAt(name, body);
  return candlesAt(source, { ...market(name), interval });
}

/** `open high low close volume period` */
const written = (row: Candle) => [row.open, row.high, row.low, row.close, row.volume, String(row.period)].join(' ');

describeRecordings('recorded candles: every digit survives', () => {
  test('binance, klines of spot: text with all its zeros, the open last row', async () => {
    const text = recording('sources/binance-spot-klines-m1-BTCUSDT-20211022');
    const rows: unknown[][] = JSON.parse(text);
    const answer = await candles('binance', text);
    expect(answer.rejected).toEqual([]);
    expect(answer.rows.map(written)).toEqual(
      rows.map(([time, open, high, low, close, volume]) => [open, high, low, close, volume, time].join(' ')),
    );
    expect(answer.rows.map(written)).toContain(
      '60739.85000000 60739.85000000 60739.85000000 60739.85000000 0.04734000 1634944320000',
    );
    expect(rows).toHaveLength(10);
  });

  test('okx, candles of a perpetual contract, whose volumes count contracts: descending', async () => {
    const answer = await candles('okx', recording('sources/okx-candles-m1-20250512'));
    expect(answer.rejected).toEqual([]);
    expect(answer.rows.map(written)).toEqual([
      '102806.1 102820.4 102806.1 102820.4 1040.37 1747094040000',
      '102806 102820.5 102783.1 102806.1 7164.04 1747093980000',
    ]);
  });

  test('bybit, a candle of the linear category: rejected alone at :39, read at the full minute', async () => {
    const recorded = recording('sources/bybit-v5-kline-linear-BTCUSDT');
    await expect(candles('bybit', recorded)).rejects.toThrow(
      'candles of another market: "linear BTCUSDT" instead of BTCUSDT',
    );
    const text = recorded.replace('linear', 'spot');
    const refused = await candles('bybit', text);
    expect(refused.rows).toEqual([]);
    expect(refused.rejected).toEqual([
      {
        raw: '["1709891679000","27450","27460","27440","27455","123.45","3390000"]',
        reason: 'does not start a period of m1',
        timeMs: 1709891679000,
      },
    ]);
    const answer = await candles('bybit', text.replace('1709891679000', '1709891640000'));
    expect([answer.rows.map(written), answer.rejected]).toEqual([['27450 27460 27440 27455 123.45 1709891640000'], []]);
  });

  test('coinbase, candles of Coinbase Advanced written as Coinbase Exchange documents them', async () => {
    const recorded: { candles: Record<string, string>[] } = JSON.parse(
      recording('sources/coinbase-advanced-candles-h1-20240404'),
    );
    const rows = recorded.candles.map(
      ({ start, low, high, open, close, volume }) => `[${[start, low, high, open, close, volume].join(',')}]`,
    );
    const answer = await candles('coinbase', `[${rows.join(',')}]`, 'h1');
    expect(answer.rejected).toEqual([]);
    expect(answer.rows.map(written)).toEqual([
      '66312.4 66331.99 66055.14 66181.6 355.82896243 1712192400000',
      '65984.18 66387.77 65857.35 66314.59 358.74851052 1712188800000',
    ]);
  });

  test('coincap-v3, history: 16 decimals, fields that version 2 lacks are ignored', async () => {
    const text = recording('sources/coincap-v3-history-h1-bitcoin-20250610-rows');
    const recorded: { data: { priceUsd: string; time: number }[] } = JSON.parse(text);
    const { source } = await venueAt('coincap-v3', text);
    const answer = await historyAt(source, 'bitcoin', { interval: 'h1' });
    expect(answer.rejected).toEqual([]);
    expect(answer.rows.map(({ priceUsd, time }) => `${priceUsd} ${time}`)).toEqual(
      recorded.data.map(({ priceUsd, time }) => `${priceUsd} ${time}`),
    );
    expect(answer.rows.at(-1)?.priceUsd).toBe('109612.2627321388298457');
    expect([answer.rows.length, answer.sourceTimeMs]).toEqual([8, 1749615886097]);
  });
});

/** Minute of the candles below, and the texts of their values. */
const time = Date.UTC(2024, 0, 1);
const values = ['4.20', '4.30', '4.10', '4.200', '0.00000000'] as const;
const small = ['0.0000001', '0.0000002', '0.0000001', '0.0000002', '1000000000000000.10'] as const;

interface Form {
  /** JSON of a row of time (milliseconds), open, high, low, close and volume. */
  readonly row: (values: readonly string[]) => string;
  /** JSON of an answer with the rows. */
  readonly body: (rows: readonly string[]) => string;
}

const klines: Form = {
  row: ([ms, ...ohlcv]) => `[${ms},${ohlcv.map(quoted)},0,${turnoverOf(ohlcv)},0,"0","0","0"]`,
  body: (rows) => `[${rows}]`,
};
const bybitForm = (category: string): Form => ({
  row: ([ms, ...ohlcv]) => `[${[ms, ...ohlcv].map(quoted)},${turnoverOf(ohlcv)}]`,
  body: (rows) =>
    `{"retCode":0,"retMsg":"OK","result":{"category":"${category}","symbol":"BTCUSDT","list":[${rows}]},"retExtInfo":{},"time":1672025956592}`,
});
const forms: Readonly<Record<string, Form>> = {
  binance: klines,
  // 5 counts contracts, and 7 the base asset.
  'binance-coinm': {
    ...klines,
    row: ([ms, open, high, low, close, volume]) =>
      `[${ms},${[open, high, low, close, '9'].map(quoted)},0,${quoted(volume)},0,"9","0","0"]`,
  },
  'binance-us': klines,
  'binance-usdm': klines,
  bybit: bybitForm('spot'),
  'bybit-linear': bybitForm('linear'),
  coinbase: {
    row: ([ms, open, high, low, close, volume]) => `[${[seconds(ms), low, high, open, close, volume]}]`,
    body: (rows) => `[${rows}]`,
  },
  kraken: {
    row: ([ms, open, high, low, close, volume]) =>
      `[${seconds(ms)},${[open, high, low, close, '9', volume].map(quoted)},0]`,
    body: (rows) => `{"error":[],"result":{"XXBTZUSD":[${rows}],"last":1704067440}}`,
  },
  okx: {
    row: ([ms, ...ohlcv]) => `[${[ms, ...ohlcv].map(quoted)},"9",${turnoverOf(ohlcv)},"1"]`,
    body: (rows) => `{"code":"0","msg":"","data":[${rows}]}`,
  },
  'okx-swap': {
    // Contracts stand before the volume.
    row: ([ms, open, high, low, close, volume = '']) =>
      `[${[ms, open, high, low, close, `${volume}9`, volume].map(quoted)},${turnoverOf(['', '', '', close ?? '', volume])},"1"]`,
    body: (rows) => `{"code":"0","msg":"","data":[${rows}]}`,
  },
};

/** The volume in the quote asset of open, high, low, close and volume. */
function turnoverOf([, , , close, volume]: readonly string[]): string {
  return quoted(Number(close) * Number(volume));
}

function quoted(value: unknown): string {
  return `"${value}"`;
}

function seconds(ms: string | undefined): number {
  return Number(ms) / 1000;
}

describe.each(Object.entries(forms))('%s, an answer written after the documentation', (name, { row, body }) => {
  test('keeps every digit: trailing zeros, a volume of zero, seven decimals, sixteen digits', async () => {
    const answer = await candles(name, body([row([String(time + 60_000), ...small]), row([String(time), ...values])]));
    expect(answer.rejected).toEqual([]);
    expect(answer.rows.map(written)).toEqual([[...small, time + 60_000].join(' '), [...values, time].join(' ')]);
    expect(answer.known).toBeNull();
  });

  test('a bad row is rejected alone', async () => {
    const answer = await candles(
      name,
      body([
        row([String(time), '4.20', '4.30', '4.10', '4.20', '1']),
        row([String(time + 60_000), '9', '4.30', '4.10', '4.20', '1']),
        row([String(time + 90_000), '4.20', '4.30', '4.10', '4.20', '1']),
        row([String(time + 120_000), '4.20', '4.30', '4.10', '4.20', '-1']),
        'null',
        '["x"]',
        row([String(time + 180_000), '4.20', '4.30', '4.10', '4.20', '2']),
      ]),
    );
    expect(answer.rows.map(({ period }) => period)).toEqual([time, time + 180_000]);
    expect(answer.rejected.map(({ reason }) => reason)).toEqual([
      'open is above high',
      'does not start a period of m1',
      'volume is negative',
      'not a row',
      expect.any(String),
    ]);
  });
});

test('there is a form for every profile of an exchange', () => {
  expect(Object.keys(forms)).toEqual(Object.keys(symbols));
});

test('kraken: candles of another market are refused', async () => {
  const body = forms.kraken?.body([]).replace('XXBTZUSD', 'XETHZUSD') ?? '';
  await expect(candles('kraken', body)).rejects.toThrow('another market: ["XETHZUSD"] instead of XBTUSD');
});

test('a row whose two volumes are exchanged is rejected, and not one whose other volume has another unit', async () => {
  const row = (minute: number, volumes: string) =>
    `[${time + minute * 60_000},"2","3","2","2",${volumes.replace('|', ',0,')},0,"0","0","0"]`;
  const rows = [row(0, '"5"|"10"'), row(1, '"10"|"5"'), row(2, '"5"|"100"'), row(3, '"0"|"0"')];
  const { rows: kept, rejected } = await candles('binance', `[${rows}]`);
  const reason = expect.stringMatching(/ is not between low and high; the two columns seem exchanged$/);
  expect([kept.length, rejected]).toMatchObject([3, [{ reason, timeMs: time + 60_000 }]]);
});

test('what a source says is open is covered by nothing, whatever the clock says', async () => {
  const row = forms.okx?.row([String(time), '1', '1', '1', '1', '1']) ?? '';
  const body = forms.okx?.body([row.replace(/"1"]$/, '"0"]')]) ?? '';
  expect((await candles('okx', body)).known).toEqual({ untilMs: time, missing: [] });
});

test('an answer of a cache is as old as its Age says', async () => {
  const { source } = await venueAt('binance', '[]', { headers: { age: '5400' } });
  const { sourceTimeMs, durationMs } = await candlesAt(source, { ...market('binance'), interval: 'm1' });
  expect(sourceTimeMs).toBe(nowMs - durationMs - 5_400_000);
});

test('coinbase: numbers with an exponent stay exact', async () => {
  const answer = await candles('coinbase', `[[${time / 1000},1e-7,2.50E-7,1.0e-7,2e-7,0]]`);
  expect(answer.rows.map(written)).toEqual([`1.0e-7 2.50E-7 1e-7 2e-7 0 ${time}`]);
});

test('binance: reads the weight that the current minute used', async () => {
  const used: unknown[] = [];
  for (const headers of [{ 'x-mbx-used-weight-1m': '1234' }, { 'x-mbx-used-weight-1m': 'much' }, {}]) {
    const { source } = await venueAt('binance', '[]', {
      headers: headers as Record<string, string>,
      onReply: (reply) => used.push(reply),
    });
    await candlesAt(source, { ...market('binance'), interval: 'm1' });
  }
  expect(used).toEqual([
    { cost: 2, used: 1234 },
    { cost: 2, used: null },
    { cost: 2, used: null },
  ]);
});

describe('the list of markets, written after the documentation', () => {
  const lists: Readonly<Record<string, { body: unknown; markets: string[]; rejected: number }>> = {
    binance: {
      body: {
        symbols: [
          { symbol: 'BTCUSDT', status: 'TRADING', baseAsset: 'BTC', quoteAsset: 'USDT' },
          { symbol: 'OLDBTC', status: 'BREAK', baseAsset: 'OLD', quoteAsset: 'BTC' },
          null,
        ],
      },
      markets: ['BTCUSDT BTC USDT true', 'OLDBTC OLD BTC false'],
      rejected: 1,
    },
    'binance-us': {
      body: { symbols: [{ symbol: 'BTCUSD', status: 'TRADING', baseAsset: 'BTC', quoteAsset: 'USD' }] },
      markets: ['BTCUSD BTC USD true'],
      rejected: 0,
    },
    'binance-usdm': {
      body: {
        symbols: [
          {
            ...{ symbol: 'BTCUSDT', pair: 'BTCUSDT', contractType: 'PERPETUAL', deliveryDate: 4133404800000 },
            ...{ status: 'TRADING', baseAsset: 'BTC', quoteAsset: 'USDT', marginAsset: 'USDT' },
          },
          {
            ...{
              symbol: 'BTCUSDT_210924',
              pair: 'BTCUSDT',
              contractType: 'CURRENT_QUARTER',
              deliveryDate: 1632470400000,
            },
            ...{ status: 'DELIVERING', baseAsset: 'BTC', quoteAsset: 'USDT', marginAsset: 'USDT' },
          },
          // Shares, and one that is not traded yet.
          {
            ...{ symbol: 'TSLAUSDT', contractType: 'TRADIFI_PERPETUAL', deliveryDate: 4133404800000 },
            ...{ status: 'TRADING', baseAsset: 'TSLA', quoteAsset: 'USDT', marginAsset: 'USDT' },
          },
          {
            ...{ symbol: 'BTCSTUSDT', contractType: '', deliveryDate: 4133404800000, status: 'PENDING_TRADING' },
            ...{ baseAsset: 'BTCST', quoteAsset: 'USDT', marginAsset: 'USDT' },
          },
          { symbol: 'X', baseAsset: 'X', quoteAsset: 'Y', deliveryDate: 0, status: 'TRADING' },
          { symbol: 'Y', baseAsset: 'X', quoteAsset: 'Y', marginAsset: 'Y', deliveryDate: 0, status: 'TRADING' },
        ],
      },
      markets: [
        'BTCUSDT BTC USDT:USDT true',
        'BTCUSDT_210924 BTC USDT:USDT-210924 false',
        'TSLAUSDT TSLA USDT:USDT true',
        'BTCSTUSDT BTCST USDT:USDT false',
      ],
      rejected: 2,
    },
    bybit: {
      body: {
        retCode: 0,
        retMsg: 'OK',
        result: {
          category: 'spot',
          list: [
            { symbol: 'BTCUSDT', baseCoin: 'BTC', quoteCoin: 'USDT', status: 'Trading' },
            { symbol: 'NEWUSDT', baseCoin: 'NEW', quoteCoin: 'USDT', status: 'PreLaunch' },
            { symbol: 'X', baseCoin: 'X' },
          ],
        },
      },
      markets: ['BTCUSDT BTC USDT true', 'NEWUSDT NEW USDT false'],
      rejected: 1,
    },
    'bybit-linear': {
      body: {
        retCode: 0,
        retMsg: 'OK',
        result: {
          category: 'linear',
          list: [
            {
              ...{ symbol: 'BTCPERP', contractType: 'LinearPerpetual', status: 'Trading', deliveryTime: '0' },
              ...{ baseCoin: 'BTC', quoteCoin: 'USDC', settleCoin: 'USDC' },
            },
            {
              ...{ symbol: 'BTC-26DEC25', contractType: 'LinearFutures', status: 'Closed' },
              ...{ baseCoin: 'BTC', quoteCoin: 'USDC', settleCoin: 'USDC', deliveryTime: '1766736000000' },
            },
            { symbol: 'X', contractType: 'LinearFutures', baseCoin: 'X', quoteCoin: 'Y', settleCoin: 'Y' },
          ],
        },
      },
      markets: ['BTCPERP BTC USDC:USDC true', 'BTC-26DEC25 BTC USDC:USDC-251226 false'],
      rejected: 1,
    },
    coinbase: {
      body: [
        { id: 'BTC-USD', base_currency: 'BTC', quote_currency: 'USD', status: 'online', trading_disabled: false },
        { id: 'OFF-USD', base_currency: 'OFF', quote_currency: 'USD', status: 'online', trading_disabled: true },
        { id: 7, base_currency: 'OLD', quote_currency: 'USD', status: 'online' },
      ],
      markets: ['BTC-USD BTC USD true', 'OFF-USD OFF USD false'],
      rejected: 1,
    },
    kraken: {
      body: {
        error: [],
        result: {
          XXBTZUSD: { altname: 'XBTUSD', wsname: 'XBT/USD', base: 'XXBT', quote: 'ZUSD', status: 'online' },
          'XXBTZUSD.d': { altname: 'XBTUSD.d', base: 'XXBT', quote: 'ZUSD', status: 'online' },
          XXDGXXBT: { altname: 'XDGXBT', wsname: 'XDG/XBT', base: 'XXDG', quote: 'XXBT', status: 'online' },
          XTZUSD: { altname: 'XTZUSD', wsname: 'XTZ/USD', base: 'XTZ', quote: 'ZUSD', status: 'cancel_only' },
          NONAME: { altname: 'NONAME', base: 'NO', quote: 'NAME', status: 'online' },
        },
      },
      markets: ['XBTUSD BTC USD true', 'XDGXBT DOGE BTC true', 'XTZUSD XTZ USD false'],
      rejected: 1,
    },
    okx: {
      body: {
        code: '0',
        msg: '',
        data: [
          { instId: 'BTC-USDT', baseCcy: 'BTC', quoteCcy: 'USDT', state: 'live', listTime: '1606468572000' },
          { instId: 'NEW-USDT', baseCcy: 'NEW', quoteCcy: 'USDT', state: 'preopen', listTime: '' },
          { instId: 'X', state: 'live' },
        ],
      },
      markets: ['BTC-USDT BTC USDT true', 'NEW-USDT NEW USDT false'],
      rejected: 1,
    },
    'okx-swap': {
      body: {
        code: '0',
        msg: '',
        data: [
          {
            ...{ instId: 'BTC-USDT-SWAP', uly: 'BTC-USDT', baseCcy: '', quoteCcy: '', settleCcy: 'USDT' },
            ...{ ctVal: '0.01', ctMult: '1', ctValCcy: 'BTC', state: 'live' },
          },
          {
            ...{ instId: 'BTC-USD-SWAP', uly: 'BTC-USD', settleCcy: 'BTC', ctVal: '100', ctMult: '1', ctValCcy: 'USD' },
            state: 'suspend',
          },
          // Settled in another asset, and of several times a value.
          {
            ...{ instId: 'BTC-USD_UM-SWAP', uly: 'BTC-USD', settleCcy: 'USDC', ctVal: '0.001', ctMult: '10' },
            ...{ ctValCcy: 'BTC', state: 'live', expTime: '1782460800000' },
          },
          {
            instId: 'X-USD-SWAP',
            uly: 'X-USD',
            settleCcy: 'X',
            ctVal: '',
            ctMult: '1',
            ctValCcy: 'USD',
            state: 'live',
          },
        ],
      },
      markets: [
        ...['BTC-USDT-SWAP BTC USDT:USDT true', 'BTC-USD-SWAP BTC USD:BTC false'],
        'BTC-USD_UM-SWAP BTC USD:USDC true',
      ],
      rejected: 1,
    },
  };

  test.each(Object.entries(lists))('%s', async (name, { body, markets, rejected }) => {
    const { source } = await venueAt(name, body);
    const answer = await source.symbols();
    expect(answer.rows.map((row) => `${row.symbol} ${row.base} ${row.quote} ${row.isTrading}`)).toEqual(markets);
    // No list of spot markets states the start of trading: that of OKX states a later time.
    expect(answer.rows.map(({ listedMs }) => listedMs)).toEqual(markets.map(() => null));
    expect(answer.rejected).toHaveLength(rejected);
    const contracts = answer.rows.map(({ contract }) => contract && `${contract.size} ${contract.asset}`);
    expect(contracts).toEqual(name === 'okx-swap' ? ['0.01 BTC', '100 USD', '0.010 BTC'] : markets.map(() => null));
  });
});

import { describe, expect, it } from 'vitest';
import { listName } from '../../model/lists/index.ts';
import { seriesName } from '../../model/series.ts';
import { readWatchList } from '../../watch-list/read.ts';
import { type Listed, type ListedSource, listsNeeded, resolve } from '../../watch-list/resolve.ts';
import { givenBy } from '../sources/source-facts.ts';

const nowMs = Date.UTC(2026, 10, 20, 12);

function read(text: string) {
  const result = readWatchList(text, nowMs);
  if (result.kind === 'problems') throw new Error(JSON.stringify(result.problems));
  return result.list;
}

const market = (name: string, goneSinceMs: number | null = null) => {
  const [exchange = '', base = '', quote = ''] = name.split(/[ /]/);
  return { exchange, base, quote, goneSinceMs };
};
const asset = (name: string, rank: number | null, goneSinceMs: number | null = null) => ({
  asset: name,
  rank,
  goneSinceMs,
});

const listed: Listed = {
  markets: [
    ...['binance bitcoin/tether', 'binance ethereum/tether', 'binance ethereum/bitcoin'].map((name) => market(name)),
    ...['kraken bitcoin/euro', 'kraken usd-coin/euro'].map((name) => market(name)),
    market('binance luna/tether', 1),
  ],
  assets: [
    ...[asset('bitcoin', 1), asset('tether', 3), asset('ethereum', 2), asset('dust', null)],
    ...[asset('luna', 2, 1), asset('usd-coin', 4)],
  ],
};

function resolved(text: string, from: Listed = listed) {
  const { series, lists, notes } = resolve(read(text), from);
  return {
    series: series.map((one) => seriesName(one.series)),
    lists: lists.map(({ list, everyMs }) => [listName(list), everyMs]),
    notes: notes.map(({ line, message }) => `${line} ${message}`),
  };
}

describe('a watch list', () => {
  it.each([
    ['{ exchange: b, base: a, quote: q, interval: h1, from: 1y }', []],
    ['{ exchange: b, interval: h1, from: 1y }', ['markets']],
    ['{ exchange: b, base: a, quote: "q*", interval: h1, from: 1y }', ['markets']],
    ['{ exchange: b, base: a, quote: q, top: 5, interval: h1, from: 1y }', ['markets', 'assets']],
    ['{ source: b, symbol: "*/USDT", top: 5, interval: h1, from: 1y }', ['assets']],
  ])('needs the lists that its entries choose from: %s', (entry, needed) => {
    expect([...listsNeeded(read(`candles: [${entry}]`))]).toEqual(needed);
  });

  it('resolves patterns, omitted names and exclusions to listed markets, and notes delisted ones', () => {
    const text = `candles:\n  - { exchange: b*, quote: [tether, bitcoin], interval: [h1, d1], from: 1y, except: { base: eth*, quote: bitcoin } }`;
    expect(resolved(text)).toEqual({
      series: [
        ...['binance bitcoin/tether h1', 'binance bitcoin/tether d1'],
        ...['binance ethereum/tether h1', 'binance ethereum/tether d1'],
      ],
      lists: [],
      notes: ['2 left out, because the source no longer lists them: binance luna/tether'],
    });
  });

  it('takes the first listed assets by rank, and excludes afterwards', () => {
    expect(resolved('history: [{ top: 3, interval: d1, from: 1y, except: tether }]').series).toEqual([
      'bitcoin d1',
      'ethereum d1',
    ]);
    expect(resolved('candles: [{ exchange: kraken, top: 3, interval: d1, from: 1y }]').series).toEqual([
      'kraken bitcoin/euro d1',
    ]);
    expect(resolved('lists: { asset-markets: [{ top: 1, every: 1h }, { asset: "b*", every: 5m }] }').lists).toEqual([
      ['markets of bitcoin', 300_000],
    ]);
  });

  it('keeps named markets, and notes those that the source does not list', () => {
    const text = 'candles: [{ exchange: binance, base: [luna, bitcion], quote: tether, interval: d1, from: 1y }]';
    expect(resolved(text)).toMatchObject({
      series: ['binance luna/tether d1', 'binance bitcion/tether d1'],
      notes: [
        '1 the source no longer lists binance luna/tether: its remaining history is fetched',
        '1 the source does not list binance bitcion/tether: did you mean "bitcoin"?',
      ],
    });
    expect(resolved(text, { markets: null, assets: null }).notes).toEqual([]);
    const named = (exchange: string, base: string) =>
      resolved(`candles: [{ exchange: ${exchange}, base: ${base}, quote: tether, interval: d1, from: 1y }]`).notes;
    expect(named('binanse', 'bitcoin')).toEqual([
      '1 the source does not list binanse bitcoin/tether: did you mean "binance"?',
    ]);
    expect(named('binance', 'euro')).toEqual(['1 the source does not list binance euro/tether: is the name right?']);
  });

  it('leaves out markets that there cannot be', () => {
    const of = (dataset: string, quote: string) =>
      resolved(`${dataset}: [{ exchange: b, base: a, quote: '${quote}', interval: h1, from: 1y }]`, {
        markets: null,
        assets: null,
      });
    const none = (quote: string, why: string) => ({
      series: [],
      lists: [],
      notes: [`1 left out: b a/${quote}: ${why}`],
    });
    const noDay = 'the quote "q:q-991332" has an expiry that is no day (YYMMDD)';
    expect(of('candles', 'q:q-991332')).toEqual(none('q:q-991332', noDay));
    expect(of('funding', 'q')).toEqual(none('q', 'a spot market has no funding rates'));
  });

  it('notes names without a match, with a suggestion', () => {
    expect(resolved('candles: [{ exchange: binanse, quote: tether, interval: d1, from: 1y }]').notes).toEqual([
      '1 "binanse" is not the exchange of any listed market: did you mean "binance"?',
      '1 matches no market that the source lists',
    ]);
    expect(resolved('history: [{ asset: bitcion, interval: d1, from: 1y }]')).toMatchObject({
      series: ['bitcion d1'],
      notes: ['1 "bitcion" is not a listed asset: did you mean "bitcoin"?'],
    });
  });

  it('extends a series that several entries share', () => {
    const text = `history:
  - { asset: bitcoin, interval: [d1, h1], from: 1y }
  - { asset: "bit*", interval: d1, from: 2020-01-01, to: 2024-01-01 }`;
    expect(resolve(read(text), listed).series).toEqual([
      {
        series: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'd1' },
        starts: [
          { kind: 'age', age: '1y' },
          { kind: 'time', atMs: Date.UTC(2020, 0, 1) },
        ],
        endMs: null,
      },
      {
        series: { dataset: 'asset_history', assetId: 'bitcoin', interval: 'h1' },
        starts: [{ kind: 'age', age: '1y' }],
        endMs: null,
      },
    ]);
  });
});

describe('an entry with sources', () => {
  const candles = ['m1', 'h1'];
  const venue = (exchange: string, symbol: string, archive: ListedSource['archive'] = null): ListedSource => ({
    exchange,
    isArchive: false,
    ...givenBy({ candles }),
    archive,
    markets: [{ symbol, base: 'BTC', quote: 'USDT' }],
    names: new Map([[symbol, { baseId: 'bitcoin', quoteId: 'tether' }]]),
  });
  const service: ListedSource = {
    exchange: null,
    isArchive: false,
    ...givenBy({ candles: ['h1', 'd1'], asset_history: ['d1'] }),
    archive: null,
    markets: [],
    names: new Map(),
  };
  const sources = new Map([
    ['binance', venue('binance', 'BTCUSDT', { name: 'files', ...givenBy({ candles: ['m1'] }) })],
    ['mirror', venue('binance', 'BTC-USDT')],
    ['kraken', venue('kraken', 'XBTUSDT')],
    ['unlisted', { ...venue('binance', ''), markets: [] }],
    ['service', service],
    ['files', { ...venue('binance', ''), isArchive: true, markets: [] }],
  ]);
  const chosen = (entry: string, dataset = 'candles') => {
    const { series, notes, waiting } = resolve(read(`${dataset}: [${entry}]`), {
      markets: null,
      assets: null,
      sources,
    });
    return {
      series: series.map((one) => [
        seriesName(one.series),
        one.sources?.map(({ source, symbol }) => `${source} ${symbol}`) ?? null,
      ]),
      notes: [...waiting, ...notes].map(({ message }) => message),
    };
  };

  it('has them in order, an archive before its own, each with its symbol and the intervals that it gives', () => {
    const text = '{ source: [service, binance, mirror], symbol: BTC/USDT, interval: [m1, h1, d1], from: 1y }';
    expect(chosen(text)).toEqual({
      series: [
        ['binance bitcoin/tether m1', ['files BTCUSDT', 'binance BTCUSDT', 'mirror BTC-USDT']],
        ['binance bitcoin/tether h1', ['service ', 'binance BTCUSDT', 'mirror BTC-USDT']],
        ['binance bitcoin/tether d1', ['service ']],
      ],
      notes: [],
    });
  });

  it.each([
    ['', ['bitcoin', 'ethereum', 'PEPE']],
    ['top: 2', ['bitcoin', 'ethereum']],
    // By the code of the list and by the id.
    ['except: { base: ETH }', ['bitcoin', 'PEPE']],
    ['top: 2, except: { base: bitcoin }', ['ethereum']],
  ])('chooses perpetuals by pattern and %s', (more, bases) => {
    const swap = (base: string) => ({ symbol: `${base}USDT`, base, quote: 'USDT:USDT' });
    const names = new Map([
      ['BTCUSDT', { baseId: 'bitcoin', quoteId: 'tether:tether' }],
      ['ETHUSDT', { baseId: 'ethereum', quoteId: 'tether:tether' }],
    ]);
    const perpetuals = { ...venue('binance', ''), markets: ['BTC', 'ETH', 'PEPE'].map(swap), names };
    const text = `candles: [{ source: usdm, symbol: '*/USDT:USDT', interval: h1, from: 1y, ${more} }]`;
    const { series, notes } = resolve(read(text), { ...listed, sources: new Map([['usdm', perpetuals]]) });
    expect(series.map(({ series: one }) => 'baseId' in one && one.baseId)).toEqual(bases);
    expect(notes).toEqual([]);
  });

  it('leaves out a dataset that the source does not give of the kind of market', () => {
    const markets = ['', '-300628'].map((end) => ({ symbol: `BTC${end}`, base: 'BTC', quote: `USD:BTC${end}` }));
    const { intervals, kinds } = givenBy({ open_interest: ['h1'] });
    const given = { intervals, kinds: { ...kinds, open_interest: ['perpetual'] as const } };
    const coinm = { ...venue('binance', ''), ...given, markets, names: new Map() };
    const text = `open-interest: [{ source: coinm, symbol: 'BTC/*', interval: h1, from: 1y }]`;
    const { series, notes } = resolve(read(text), { ...listed, sources: new Map([['coinm', coinm]]) });
    expect(series.map((one) => seriesName(one.series))).toEqual(['binance BTC/USD:BTC h1 open-interest']);
    const leftOut = 'left out: coinm gives no open interest of a future market: binance BTC/USD:BTC-300628';
    expect(notes.map(({ message }) => message)).toEqual([leftOut]);
  });

  it('may name the market by ids, and leaves out exchanges of other markets', () => {
    const named = 'exchange: binance, base: bitcoin, quote: tether, interval: h1, from: 1y';
    expect(chosen(`{ source: [mirror, service], ${named} }`).series).toEqual([
      ['binance bitcoin/tether h1', ['mirror BTC-USDT', 'service ']],
    ]);
    expect(chosen(`{ source: kraken, ${named} }`)).toEqual({
      series: [],
      notes: ['left out: no source of it has candles of binance bitcoin/tether'],
    });
    expect(chosen('{ source: [binance, kraken], symbol: BTC/USDT, interval: h1, from: 1y }')).toEqual({
      series: [['binance bitcoin/tether h1', ['binance BTCUSDT']]],
      notes: ['left out: kraken has candles of kraken, not of binance'],
    });
  });

  it('leaves out a source whose markets were never listed, and never takes those of another exchange instead', () => {
    const leftOut =
      'unlisted is left out until a worker or `tidemark markets --source unlisted` reads its list of markets';
    const of = (names: string) => chosen(`{ source: ${names}, symbol: BTC/USDT, interval: h1, from: 1y }`);
    expect(of('unlisted')).toEqual({ series: [], notes: [leftOut] });
    expect(of('[unlisted, binance]')).toEqual({
      series: [['binance bitcoin/tether h1', ['binance BTCUSDT']]],
      notes: [leftOut],
    });
    expect(of('[unlisted, kraken]')).toEqual({
      series: [],
      notes: [leftOut, 'left out: kraken has candles of kraken, not of binance'],
    });
  });

  it('leaves out an archive, which has no list of markets, and says what to name instead', () => {
    const leftOut = 'left out: files is read through the source that it is the `archive` of: name that one';
    const of = (names: string) => chosen(`{ source: ${names}, symbol: BTC/USDT, interval: h1, from: 1y }`);
    expect(of('files')).toEqual({ series: [], notes: [leftOut] });
    expect(of('[files, binance]')).toEqual({
      series: [['binance bitcoin/tether h1', ['binance BTCUSDT']]],
      notes: [leftOut],
    });
  });

  it('says what none of them gives', () => {
    expect(chosen('{ source: service, symbol: BTC/USDT, interval: h1, from: 1y }').notes).toEqual([
      'service has no list of symbols: name the market by exchange, base and quote',
    ]);
    expect(chosen('{ source: [service, no], asset: bitcoin, interval: [h1, d1], from: 1y }', 'history')).toEqual({
      series: [['bitcoin d1', ['service bitcoin']]],
      notes: ['no source is named "no"', 'left out: service does not give h1, only d1'],
    });
    expect(chosen('{ source: binance, asset: bitcoin, interval: h1, from: 1y }', 'history').notes).toEqual([
      'left out: binance does not give asset history',
    ]);
  });
});

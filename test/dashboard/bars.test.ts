import { describe, expect, it } from 'vitest';
import { barsOf, changeOf, drawnPower, formatFor } from '../../dashboard/page/series/bars.ts';
import type { Piece } from '../../dashboard/page/series/chart-piece.ts';

const colours = { up: 'green', down: 'red' };
const loaded = (...prices: string[]): Piece => ({
  ...{ kind: 'line', names: ['price_usd'] },
  sampled: false,
  interval: 'm1',
  periodMs: 60_000,
  startMs: 0,
  shades: [],
  endMs: prices.length * 60_000,
  rows: new Map(prices.map((price, place) => [place * 60_000, [place * 60_000, price]])),
});

describe('bars', () => {
  it.each([
    ['usual', '64321.5', '64321.5'],
    ['smaller than the chart can step', '0.000000000000000001234', '1.234e-18'],
    ['smaller than any double', `0.${'0'.repeat(399)}15`, '1.5e-400'],
    ['as long as a column takes', `12${'0'.repeat(198)}.5`, '1.2000e199'],
    ['larger than any double', `-98765${'0'.repeat(400)}`, '-9.8765e404'],
    ['a mean', '64321.123456789012345678', '64321.12'],
    ['nothing', '0.000', '0'],
  ])('has a place and a label of its own: %s', (_, price, label) => {
    const piece = loaded(price, '0');
    const power = drawnPower(piece);
    const [bar] = barsOf(piece, power, colours) as { value: number }[];
    const { formatter, minMove } = formatFor(piece, power);
    expect(formatter(bar?.value ?? Number.NaN)).toBe(label);
    // What Lightweight Charts takes: no value beyond this, no step below.
    expect(Math.abs(bar?.value ?? Number.NaN)).toBeLessThan(Number.MAX_SAFE_INTEGER / 100);
    expect(minMove).toBeGreaterThan(1e-14);
  });

  it('of events have the colour of their sign, and a scale without the rate of a year', () => {
    const rows = new Map([[0, [0, '-0.00012', '-0.1314']] as const, [60_000, [60_000, '0', null]] as const]);
    const piece: Piece = { ...loaded('0', '0'), kind: 'bars', names: ['rate', 'annual_rate'], rows };
    expect(barsOf(piece, 0, colours)).toEqual([
      { time: 0, value: -0.00012, color: 'red' },
      { time: 60, value: 0, color: 'green' },
    ]);
    expect(formatFor(piece, 0).formatter(-0.00012)).toBe('-0.00012');
  });

  it('has the decimals of every price of a candle', () => {
    const row = [0, '0.9923', '1', '0.98', '0.994', '1234.5678'] as const;
    const piece: Piece = { ...loaded(), kind: 'candles', names: [], endMs: 60_000, rows: new Map([[0, row]]) };
    const { formatter } = formatFor(piece, drawnPower(piece));
    expect([1, 0.9923].map(formatter)).toEqual(['1.0000', '0.9923']);
  });

  it('have the exact change from the value before, unless something is missing between', () => {
    const prices = ['100', '100.50', '', '90.5', '90.50', '0', '-0.1', '0.1'];
    const all = loaded(...prices);
    const rows = new Map([...all.rows].filter(([, row]) => row[1] !== ''));
    const change = (place: number, of: Partial<Piece> = {}) => {
      const row = rows.get(place * 60_000);
      return row === undefined ? undefined : (changeOf({ ...all, rows, ...of }, row)?.text ?? null);
    };
    expect(prices.map((_, place) => change(place))).toEqual([
      ...[null, '+0.50 (+0.50 %)', undefined, '−10.00 (−9.95 %)', '0.00 (0.00 %)', '−90.50 (−100.00 %)'],
      ...['−0.1', '+0.2'],
    ]);
    const shade = { startMs: 2 * 60_000, endMs: 3 * 60_000 };
    // What is confirmed to have no value lies between two values.
    expect(change(3, { shades: [{ ...shade, layer: 'empty' }] })).toBe('−10.00 (−9.95 %)');
    expect(change(3, { shades: [{ ...shade, layer: 'gap' }] })).toBeNull();
    expect(change(3, { shades: [{ ...shade, layer: 'failed' }] })).toBeNull();
    expect(change(1, { kind: 'bars' })).toBeNull();
    const candles = new Map([1, 2].map((at) => [at * 60_000, [at * 60_000, '1', '9', '1', `${at}`, '5']] as const));
    const candle: Piece = { ...all, kind: 'candles', rows: candles };
    expect(changeOf(candle, [120_000, '1', '9', '1', '2', '5'])).toEqual({ text: '+1 (+100.00 %)', isDown: false });
  });
});

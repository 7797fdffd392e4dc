/** Correlations of many series and their returns, computed again from the points and the covered periods. */

import { beforeAll, expect, it } from 'vitest';
import { hourMs } from '../../../model/intervals.ts';
import { useStore } from '../../store/open-store.ts';
import { market } from './candles.ts';
import { ask, rowsIn, storeLine } from './price-line.ts';

const startMs = Date.UTC(2024, 0, 1);
const hours = 400;

type State = number | 'silent' | 'gap';
/** A price, no trade, or unknown, by period: a walk of small steps with a common part. */
const walk = (seed: number, missing: (hour: number) => State): State[] => {
  let price = 100 + seed;
  return Array.from({ length: hours }, (_, hour) => {
    const step = Math.sin(hour * 1.7) + Math.sin(hour * seed * 0.9) * 0.7;
    price = Math.round(price * (1 + step / 100) * 1e6) / 1e6;
    const instead = missing(hour);
    return instead === 0 ? price : instead === 1 ? 0 : instead;
  });
};
const lines: Readonly<Record<string, State[]>> = {
  a: walk(1, () => 0),
  b: walk(2, (hour) => (hour % 7 === 3 ? 'silent' : hour > 90 && hour < 120 ? 'gap' : 0)),
  c: walk(3, (hour) => (hour % 11 > 8 ? 'silent' : hour === 200 ? 1 : 0)),
  d: walk(4, (hour) => (hour > 250 && hour % 50 < 3 ? 'gap' : 0)),
};
const names = Object.keys(lines);
const stateOf = (name: string, hour: number): State => lines[name]?.[hour] ?? 'gap';

/** Pairs of log returns at the times that all of some series have. */
function returnsOf(first: string, second: string, common: readonly string[]): [number, number][] {
  const pairs: [number, number][] = [];
  let last: [number, number] | null = null;
  for (let hour = 0; hour < hours; hour += 1) {
    const states = common.map((name) => stateOf(name, hour));
    if (states.includes('gap')) last = null;
    if (states.some((state) => typeof state === 'string')) continue;
    const now: [number, number] = [Number(stateOf(first, hour)), Number(stateOf(second, hour))];
    const isPositive = (states as number[]).every((price) => price > 0);
    if (last !== null && isPositive) pairs.push([Math.log(now[0] / last[0]), Math.log(now[1] / last[1])]);
    last = isPositive ? now : null;
  }
  return pairs;
}

function figuresOf(first: string, second: string, common: readonly string[]) {
  const pairs = returnsOf(first, second, common);
  const mean = (place: 0 | 1) => pairs.reduce((sum, pair) => sum + pair[place], 0) / pairs.length;
  const means = [mean(0), mean(1)] as const;
  const moment = (x: 0 | 1, y: 0 | 1) =>
    pairs.reduce((sum, pair) => sum + (pair[x] - means[x]) * (pair[y] - means[y]), 0) / (pairs.length - 1);
  const covariance = moment(0, 1);
  return {
    observations: pairs.length,
    covariance,
    correlation: covariance / Math.sqrt(moment(0, 0) * moment(1, 1)),
    beta: covariance / moment(1, 1),
  };
}

const asText = (numbers: readonly number[]) => numbers.map((one) => one.toPrecision(9));
const series = (of: readonly string[]) => `array[${of.map((name) => `'x ${name}/tether'`)}]`;

const store = useStore();
const rows = rowsIn(store);
beforeAll(async () => {
  for (const [base, states] of Object.entries(lines)) {
    const prices = states.map((state) => (typeof state === 'number' ? String(state) : null));
    const covered = states.flatMap((state, hour) => (state === 'gap' ? [] : [[hour, hour + 1] as const]));
    await storeLine(store.database, {
      ...{ key: market(base, 'h1'), startMs, endMs: startMs + hours * hourMs, prices, covered },
    });
  }
});
const numbers = async (sql: string) => (await rows(sql)).map((row) => row.split(' | ').map(Number));

it.each([true, false])(
  'of each pair, of the times that both have or that all have (pairwise: %s)',
  async (pairwise) => {
    const common = (first: string, second: string) => (pairwise ? [first, second] : names);
    const expected = names.flatMap((first, place) =>
      names.slice(place + 1).map((second) => ({ first, second, ...figuresOf(first, second, common(first, second)) })),
    );
    const call = `correlations(${series(names)}, 'h1', pairwise => ${pairwise})`;
    const found = await numbers(`select correlation, covariance, beta, observations from ${call}`);
    expect(
      found.map(([correlation = 0, covariance = 0, beta = 0, n]) => [...asText([correlation, covariance, beta]), n]),
    ).toEqual(expected.map((one) => [...asText([one.correlation, one.covariance, one.beta]), one.observations]));
    expect(await rows(`select name, other from ${call}`)).toEqual(
      expected.map(({ first, second }) => `x ${first}/tether | x ${second}/tether`),
    );
    expect(new Set(expected.map(({ observations }) => observations)).size).toBe(pairwise ? 6 : 1);

    const matrix = `correlation_matrix(${series(names)}, 'h1', pairwise => ${pairwise})`;
    for (const [place, first] of names.entries())
      for (const [other, second] of names.entries()) {
        const { correlation, covariance, observations } = figuresOf(first, second, common(first, second));
        const cell = `correlations[${other + 1}], covariances[${other + 1}], observations[${other + 1}]`;
        const [found] = (await numbers(`select ${cell} from ${matrix}`)).slice(place);
        const [r = 0, cov = 0, n] = found ?? [];
        expect([first, second, ...asText([r, cov]), n]).toEqual([
          ...[first, second, ...asText([correlation, covariance]), observations],
        ]);
      }
  },
);

it('of two series are those of correlation()', async () => {
  for (const [first, second] of [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'd'],
  ] as const)
    for (const pairwise of [true, false])
      expect(
        await rows(
          `select correlation, beta, observations, coverage, other_coverage
             from correlations(${series([first, second])}, 'h1', pairwise => ${pairwise})`,
        ),
      ).toEqual(await rows(`select * from correlation('x ${first}/tether', 'x ${second}/tether', 'h1')`));
});

it('tells what is not covered, as the matrix does', async () => {
  for (const name of ['correlations', 'correlation_matrix']) {
    const { notices } = await ask(store.url, `select * from ${name}(${series(['a', 'b'])}, 'h1')`);
    expect([...new Set(notices)]).toEqual([expect.stringMatching(/^93\.75 % of .* is covered/)]);
  }
});

it('returns of each series are those of returns(), on one grid', async () => {
  const answer = await rows(
    `select name, to_char(time, 'YYYY-MM-DD HH24'), price, simple_return, log_return
       from returns_panel(${series(names)}, 'h1') where price is not null or coverage < 1`,
  );
  for (const name of names) {
    const own = await rows(
      `select to_char(time, 'YYYY-MM-DD HH24'), price, simple_return, log_return from returns('x ${name}/tether', 'h1')`,
    );
    const prefix = `x ${name}/tether | `;
    expect(answer.flatMap((row) => (row.startsWith(prefix) ? [row.slice(prefix.length)] : []))).toEqual(own);
  }
  const all = await rows(`select name from returns_panel(${series(['c', 'a'])}, 'h1') limit 4`);
  expect(all.map((name) => name.charAt(2))).toEqual(['c', 'a', 'c', 'a']);
  const wide = await rows(
    `select simple_returns ->> 'x a/tether', simple_returns ->> 'x b/tether', log_returns ->> 'x b/tether', complete
       from returns_panel_wide(${series(['a', 'b'])}, 'h1')`,
  );
  const cells = new Map<string, string[]>();
  for (const row of await rows(
    `select time, simple_return, log_return, name from returns_panel(${series(['a', 'b'])}, 'h1')`,
  )) {
    const [time = '', simple = '', log = '', name] = row.split(' | ');
    cells.set(time, [...(cells.get(time) ?? []), ...(name === 'x a/tether' ? [simple] : [simple, log])]);
  }
  expect(wide).toEqual([...cells.values()].map((row) => [...row, row.includes('-') ? 'f' : 't'].join(' | ')));
});

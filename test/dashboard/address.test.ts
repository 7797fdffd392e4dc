import { expect, it } from 'vitest';
import { type Address, hrefOf, readAddress, withoutWrongTimes } from '../../dashboard/page/state/address.ts';

const kept = (address: Partial<Address>) => readAddress(new URL(hrefOf(address), 'http://host').search);

it.each(['0', 'overview', 'a & b=c'])('keeps a search for %s', (find) => {
  expect(kept({ find })).toMatchObject({ view: 'overview', find });
  expect(kept({ view: 'list', list: find })).toMatchObject({ view: 'list', list: find });
});

it('leaves out what is usual', () => {
  expect(hrefOf({ view: 'overview', find: '', sort: 'missing', axis: 'own', page: 1 })).toBe('./');
  expect(hrefOf({ view: 'series', seriesId: 7, compare: 0, span: '', range: null })).toBe('./?series=7');
});

it('keeps a minute, and takes the beginning of it', () => {
  const minute = Date.UTC(2026, 10, 28, 12, 3);
  expect(decodeURIComponent(hrefOf({ minute }))).toBe('./?minute=2026-11-28T12:03Z');
  expect(kept({ find: 'x', minute })).toMatchObject({ view: 'overview', find: 'x', minute });
  expect(readAddress('?minute=2026-11-28T12:03:59Z').minute).toBe(minute);
  for (const wrong of ['', '?minute=', '?minute=noon']) expect(readAddress(wrong).minute).toBeNull();
});

it('keeps the view of a series with its options', () => {
  const address = { seriesId: 7, compare: 8, bars: 'd1', range: { startMs: 60_000, endMs: 86_400_000 } };
  expect(kept({ view: 'series', ...address })).toMatchObject({ view: 'series', ...address });
});

const wrongTimes = [
  ...['99999999999999', '1', '-5', '1e99', 'Infinity', 'NaN', '20000', '2024', 'noon', '1969-12-31', '2024-13-01'],
  ...['9999-01-01', '12345-01-01', '+275760-09-12T23:59Z', '+275760-09-13', '-000001-01-01', '2100-01-01T00:01Z'],
];

it.each(wrongTimes)('ignores the time %s, and takes it out of the address', (wrong) => {
  const time = encodeURIComponent(wrong);
  const [minute, from, since] = [`minute=${time}`, `from=2024-01-01&to=${time}`, `since=${time}&until=2024-01-01`];
  expect(readAddress(`?${minute}&${from}&${since}`)).toMatchObject({ minute: null, range: null, chosen: null });
  expect(withoutWrongTimes(`?find=a&${minute}`)).toBe('?find=a');
  expect(withoutWrongTimes(`?series=7&${from}&${since}`)).toBe('?series=7');
  expect(withoutWrongTimes(`?${minute}`)).toBe('');
});

it('takes half of a range out of the address, and one that ends before it begins, and leaves what can be shown', () => {
  expect(withoutWrongTimes('?series=7&from=2024-01-01&since=2024-01-02&until=2024-01-01')).toBe('?series=7');
  for (const search of ['', '?find=a%20b', '?series=7&from=1970-01-01&to=2024-01-01T05:30Z', '?minute=2024-01-01'])
    expect(withoutWrongTimes(search)).toBe(search);
  const next = new Date(Date.now() + 2 * 86_400_000).toISOString();
  expect(withoutWrongTimes(`?minute=${next}`)).toBe('');
  expect(readAddress(`?minute=${next}`).minute).toBeNull();
});

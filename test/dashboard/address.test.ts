import { expect, it } from 'vitest';
import { type Address, hrefOf, readAddress } from '../../dashboard/page/state/address.ts';

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

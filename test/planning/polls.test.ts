import { expect, it } from 'vitest';
import { isLastPage, isOutageLike } from '../../planning/polls.ts';

const page = { asked: 2000, received: 500, fresh: 500, total: 2500, totalBefore: 2500, largestPage: 2000 };

it('a short page is the last when the source has sent larger ones and no entry is missing', () => {
  expect(isLastPage(page)).toBe(true);
  expect(isLastPage({ ...page, total: 2600, received: 600, fresh: 600 })).toBe(true);
  // It may have been capped: no larger page is known, or more entries are expected.
  expect(isLastPage({ ...page, largestPage: 500 })).toBe(false);
  expect(isLastPage({ ...page, total: 2499 })).toBe(false);
  expect(isLastPage({ ...page, totalBefore: null })).toBe(false);
});

it('a full page is not the last, unless it has no new entry or the list is complete', () => {
  const full = { ...page, received: 2000, fresh: 2000 };
  expect(isLastPage(full)).toBe(false);
  expect(isLastPage({ ...full, received: 2001 })).toBe(false);
  expect(isLastPage({ ...full, fresh: 0 })).toBe(true);
  expect(isLastPage({ ...full, asked: null })).toBe(true);
  expect(isLastPage({ ...page, received: 0, fresh: 0, total: 3, totalBefore: null })).toBe(true);
});

it('a few missing entries do not look like an outage, and a tenth of many at once does', () => {
  expect(isOutageLike(10, 10)).toBe(false);
  expect(isOutageLike(11, 111)).toBe(false);
  expect(isOutageLike(12, 111)).toBe(true);
});

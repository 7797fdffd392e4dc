import { expect, it } from 'vitest';
import { exchangesOfProfiles, namesMeant, nearest } from '../../planning/near-names.ts';
import { profiles } from '../../sources/profiles/profiles.ts';

it('suggests a near name only', () => {
  const known = ['bitcoin', 'ethereum', 'tether'];
  expect(nearest('bitcion', known)).toBe('bitcoin');
  expect(nearest('tehter', known)).toBe('tether');
  expect(nearest('x', known)).toBe(null);
  expect(nearest('solana', known)).toBe(null);
});

it('names each name of a market that was meant', () => {
  const known = { exchanges: ['gemini'], assets: ['bitcoin', 'tether', 'tether:tether'] };
  const meant = (exchange: string, baseId: string, quoteId: string) => namesMeant({ exchange, baseId, quoteId }, known);
  expect(meant('gemimi', 'bitcoin', 'tether')).toBe(': did you mean "gemini"?');
  expect(meant('binanse', 'bitcion', 'tehter:tether')).toBe(
    ': did you mean "binance" and "bitcoin" and "tether:tether"?',
  );
  expect(meant('binance', 'bitcoin', 'tether')).toBe('');
  expect(meant('nowhere', 'solana', 'x')).toBe('');
  expect(namesMeant({ assetId: 'bitcion' }, known)).toBe(': did you mean "bitcoin"?');
});

it('knows the exchanges of all profiles', () => {
  const exchanges = Object.values(profiles).flatMap(({ exchange }) => exchange ?? []);
  expect(exchangesOfProfiles).toEqual([...new Set(exchanges)].sort());
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyOf } from '../../watch-list/names.ts';

it.each([
  ['golem-(glm)', 'golem-(glm)', true],
  ['golem.*', 'golemx', false],
  ['kr?na', 'króna', true],
])('%s and %s: %s', (pattern, name, fits) => {
  expect(anyOf([pattern])(name)).toBe(fits);
});

it('agrees with a regular expression', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
  const names = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
  fc.assert(
    fc.property(letters, names, (pattern, name) => {
      const expression = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`);
      expect(anyOf([pattern])(name)).toBe(expression.test(name));
    }),
  );
});

it('does not take exponential time for a pattern with many stars', () => {
  expect(anyOf([`${'*a'.repeat(90)}b`])('a'.repeat(200))).toBe(false);
});

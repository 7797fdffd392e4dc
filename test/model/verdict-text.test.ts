import { expect, it } from 'vitest';
import { verdictText } from '../../model/reasons.ts';

it.each([
  ['cut_short', 'partial: no point at its start or end, asked again to be sure'],
  ['confirmed_empty', 'confirmed empty'],
  ['rate_limited', 'rate limited'],
  ['filled', 'filled'],
])('says in words what came of a request: %s', (verdict, text) => {
  expect(verdictText(verdict)).toBe(text);
});

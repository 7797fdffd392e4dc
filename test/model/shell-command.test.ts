import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { shellCommand } from '../../model/format.ts';

it.each([
  'ETH/USDX; touch /tmp/x',
  '$(id)',
  '`id`',
  "a'b",
  "''",
  '<b>',
  'a b',
  '~',
  '*',
  '"$HOME"\\',
  '',
  'a\nb',
  '#x',
])('gives a shell the word %s as it is', (word) => {
  const command = shellCommand('printf', '%s|', word, 'BTC/USD:BTC');
  expect(execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' })).toBe(`${word}|BTC/USD:BTC|`);
});

it('quotes nothing that a shell takes as it is', () => {
  const words = ['npx', 'tidemark', 'a_b@c%d+e=f:g,h./-'];
  expect(shellCommand(...words)).toBe(words.join(' '));
});

import { describe, expect, it } from 'vitest';
import { parseTime } from '../../../scripts/input/parse-options.ts';

const nowMs = Date.UTC(2024, 1, 29, 12, 30);
const iso = (text: string) => new Date(parseTime(text, '--from', nowMs)).toISOString();

describe('parseTime', () => {
  it.each([
    ['2024-01-31', '2024-01-31T00:00:00.000Z'],
    ['2024-01-31T06:00', '2024-01-31T06:00:00.000Z'],
    ['2024-01-31 06:00:07', '2024-01-31T06:00:07.000Z'],
    ['2024-01-31T06:00:07.5Z', '2024-01-31T06:00:07.500Z'],
    ['30min', '2024-02-29T12:00:00.000Z'],
    ['90d', '2023-12-01T12:30:00.000Z'],
    // From the 29th of February to the 1st of March of a year that has none.
    ['11y', '2013-03-01T12:30:00.000Z'],
  ])('%s is %s', (text, expected) => expect(iso(text)).toBe(expected));

  it.each(['2023-02-29', '5', '-5d', '90y', '', '1m'])('refuses %j', (text) => {
    expect(() => iso(text)).toThrow(expect.objectContaining({ code: 'BAD_ARGUMENT' }));
  });

  it('names the form of seconds since 1970', () => {
    expect(() => iso('1706680800')).toThrow(
      expect.objectContaining({ remedy: 'for seconds since 1970, append 000: 1706680800000' }),
    );
    expect(iso('1706680800000')).toBe('2024-01-31T06:00:00.000Z');
  });
});

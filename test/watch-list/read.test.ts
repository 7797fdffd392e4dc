import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readWatchList } from '../../watch-list/read.ts';
import { watchListShape } from '../../watch-list/shape.ts';
import { problemText } from '../../watch-list/watch-list.ts';

const nowMs = Date.UTC(2026, 10, 20, 12);

function problems(text: string): string[] {
  const read = readWatchList(text, nowMs);
  return read.kind === 'problems' ? read.problems.map((problem) => problemText('t', problem)) : [];
}

const entry = 'exchange: b, interval: h1, from: 1y';

describe('an invalid watch list', () => {
  it.each<[string, string, string[]]>([
    ['empty', '', ['t:1:1: the file is empty']],
    [
      'nothing said',
      'prune: true',
      [
        't:1:1: says nothing: it needs candles, history, mark-candles, index-candles, premium-candles, funding, open-interest, long-short-ratios, lists or a setting',
      ],
    ],
    [
      'a symbol without a source',
      "candles:\n  - { symbol: BTC/USDT, interval: h1, from: '2024-01-01' }",
      ['t:2:5: has a symbol without a source'],
    ],
    [
      'a source without a market',
      "candles:\n  - { source: binance, interval: h1, from: '2024-01-01' }",
      ['t:2:5: names no market'],
    ],
    ['a tab', 'candles:\n\t- a: 1', ['t:2:1: indent with spaces, not tabs']],
    [
      'an unknown key, and what is missing',
      'candles:\n  - exchange: binance\n    intervall: h1\n    from: 1y\n',
      [
        't:2:5: interval is missing: it must be one of m1, m5, m15, m30, h1, h2, h4, h8, h12, d1, w1',
        't:3:5: there is no "intervall" here: did you mean "interval"?',
      ],
    ],
    ['a key twice', 'candles: []\nlists: {}\ncandles: []', ['t:3:1: candles is given twice: lines 1 and 3']],
    [
      'a key twice, deeper',
      'lists:\n  assets: 5m\n  markets: 1h\ncandles:\n  - exchange: a\nread-again: { days: 1, days: 2 }',
      ['t:6:24: days is given twice: line 6'],
    ],
    ...['\\u202e', '\\u200b', '\\u0085', '\\u2028', '\\u001b'].map((unseen): [string, string, string[]] => [
      `what cannot be seen in a name: ${unseen}`,
      `candles: [{ base: "${unseen}bitcoin", interval: h1, from: 1y }]`,
      [`t:1:19: base "${unseen}bitcoin" is not an id or a pattern`],
    ]),
    [
      'what cannot be seen in a key',
      '"\\u202efoo": 1\ncandles: []',
      [
        't:1:1: there is no "\\u202efoo" here, only candles, mark-candles, index-candles, premium-candles, funding, open-interest, long-short-ratios, history, lists, read-again, aliases, sources, retention, lake, notify, prune',
      ],
    ],
    [
      'a number where a text is meant',
      `candles: [{ exchange: 42, interval: h1, from: 2020 }]`,
      [
        't:1:23: exchange must be text, not the number 42: put it in quotes',
        't:1:47: from must be a date such as 2024-01-31 (UTC) or an age such as 5y, not the number 2020',
      ],
    ],
    [
      'no name',
      'history: [{ interval: d1, from: 1y }]\ncandles: [{ interval: d1, from: 1y }]',
      [
        't:1:11: names no asset: it needs asset or top',
        't:2:11: names no market: it needs exchange, base, quote or top',
      ],
    ],
    [
      'a start after the end',
      'candles: [{ exchange: b, interval: h1, from: 2024-02-01, to: 2024-02-01 }]',
      ['t:1:46: from 2024-02-01 is not before to 2024-02-01'],
    ],
    [
      'a rank that is none',
      `candles: [{ ${entry}, top: 1.5 }]`,
      ['t:1:55: top must be a whole number from 1 to 100000, not the number 1.5'],
    ],
    ['retentions', 'retention: { candles: 6h, history: 2, rates: forever }', ['t:1:36', 't:1:46']],
    ['an anchor in itself', 'candles: &a [*a]', ['t:1:14: an entry of candles must be a map']],
    ...[
      'http://user:sekret@x.example',
      'http://:sekret@x.example',
      'http://x.example?key=sekret',
      'ftp://user:sekret@x.example',
      'x.example',
    ].map((url): [string, string, string[]] => [
      `an address that is none, or may hold a password: ${url}`,
      `sources: { binance: { url: '${url}' } }`,
      [
        't:1:28: url must be an http or https address without a name, a password or a query: a key belongs in key-variable or key-file',
      ],
    ]),
  ])('says what is wrong, and where: %s', (_, text, expected) => {
    const found = problems(text);
    expect(found).toHaveLength(expected.length);
    for (const [index, line] of expected.entries()) expect(found[index]).toContain(line);
    expect(found.join()).not.toContain('sekret');
  });

  it('reports each problem with its place', () => {
    // Of a document made of many lines, each in its own.
    const lines = Array.from({ length: 30 }, (_, index) => `  - { exchange: b${index}, interval: h1, from: x }`);
    expect(problems(`candles:\n${lines.join('\n')}\n`).map((line) => line.split(':')[1])).toEqual(
      lines.map((_, index) => String(index + 2)),
    );
  });

  it('rejects aliases that expand to billions of values, and thousands of levels', () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const items = Array.from({ length: 9 }, () => (level === 0 ? 'x' : `*a${level - 1}`)).join(', ');
      return `k${level}: &a${level} [${items}]`;
    });
    expect(problems(levels.join('\n'))).toEqual([expect.stringMatching(/invalid YAML: Excessive alias count/)]);
    for (const deep of ['[', '{a: ', '- ', '? ']) {
      expect(problems(deep.repeat(10_000))).toEqual([expect.stringMatching(/invalid YAML: nested too deeply$/)]);
    }
  });
});

it('rejects an entry with too many series', () => {
  const names = Array.from({ length: 300 }, (_, index) => `n${index}`).join(', ');
  const text = `candles:\n  - { exchange: [${names}], base: [${names}], quote: [${names}], interval: h1, from: 1y }`;
  expect(problems(text)).toEqual(['t:2:5: names more than 50000 series']);
});

describe('a watch list', () => {
  it('is parsed with anchors, comments and Windows line ends', () => {
    const text = [
      'candles:',
      '  - &one # this',
      '    exchange: kraken',
      '    base: ["0x", no]',
      '    interval: &often [h1, d1]',
      '    from: 5y',
      'history:',
      '  - asset: bitcoin',
      '    interval: *often',
      '    from: 2020-01-01',
      '    to: 2020-02-01T06:00Z',
      'lists: { rates: off, markets: 1h }',
      'retention: { history: off, candles: 2y }',
    ].join('\r\n');
    const read = readWatchList(text, nowMs);
    expect(read).toMatchObject({
      kind: 'list',
      list: {
        markets: [
          {
            dataset: 'candles',
            exchange: ['kraken'],
            base: ['0x', 'no'],
            quote: null,
            top: null,
            except: [],
            ...{ intervals: ['h1', 'd1'], start: { kind: 'age', age: '5y' }, endMs: null },
            place: { line: 3, column: 5 },
          },
        ],
        assets: [
          {
            dataset: 'asset_history',
            asset: ['bitcoin'],
            intervals: ['h1', 'd1'],
            endMs: Date.UTC(2020, 1, 1, 6),
            start: { kind: 'time', atMs: Date.UTC(2020, 0, 1) },
          },
        ],
        lists: new Map([
          ['markets', 3_600_000],
          ['rates', null],
        ]),
        retention: new Map([
          ['candles', '2y'],
          ['asset_history', null],
        ]),
        prune: false,
      },
    });
  });

  it('has a schema for editors, docs/tidemark.schema.json', async () => {
    const schema = { title: "Tidemark's watch list", ...z.toJSONSchema(watchListShape, { io: 'input' }) };
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot('../../docs/tidemark.schema.json');
  });

  it("'s examples in its page have no problem, and its example is the README's", () => {
    const blocks = readFileSync('docs/watch-list.md', 'utf8').match(/(?<=```yaml\n)[^`]+/g) ?? [];
    expect(blocks.map((block) => problems(block))).toEqual([[]]);
    const example = readFileSync('config/tidemark.example.yaml', 'utf8');
    expect(readFileSync('README.md', 'utf8')).toContain(`\`\`\`yaml\n${example}\`\`\``);
    expect(problems(example)).toEqual([]);
  });
});

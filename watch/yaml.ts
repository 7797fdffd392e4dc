/**
 * YAML to plain values that know where they stand.
 *
 * YAML 1.2 throughout, also where a file says 1.1: `on`, `off`, `no` and dates are text. Anchors may be used, but what
 * they unfold to is bounded, and so is how deep it goes: a few lines can otherwise stand for billions of values, or end
 * the process.
 */

import { isAlias, isMap, isScalar, isSeq, Lexer, LineCounter, type Node, Parser, parseDocument } from 'yaml';
import type { Place, Problem } from './problem.ts';

export type Located =
  | {
      readonly kind: 'value';
      readonly value: unknown;
      /** Where the value at a path begins, or the nearest around it that is there. */
      place(path: readonly PropertyKey[]): Place;
      /** Where the key at the end of the path begins. */
      keyPlace(path: readonly PropertyKey[]): Place;
    }
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

const mostValues = 20_000;
const mostDepth = 30;
/** Of the parser's own stack, which holds up to three for a level. */
const mostStacked = 3 * mostDepth;

class Refused extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

export function readYaml(text: string): Located {
  const lineCounter = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const problem = (message: string, offset: number): Located => ({
    kind: 'problems',
    problems: [{ ...placeAt(offset), message }],
  });

  const deep = tooDeepAt(text, lineCounter);
  if (deep !== null) return problem('is nested too deeply', deep);
  const document = parseDocument(text, {
    lineCounter: new LineCounter(),
    prettyErrors: false,
    // Of thousands of keys the library's own check compares each with each.
    uniqueKeys: false,
    schema: 'core',
    merge: false,
  });
  // One slip in YAML makes several errors, of which the first is the one.
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) return problem(`is no YAML: ${sentence(wrong.message)}`, wrong.pos[0]);
  if (document.contents === null) return problem('is empty', 0);

  const values = new Map<string, number>();
  const keys = new Map<string, number>();
  let left = mostValues;

  function plain(node: Node, path: readonly PropertyKey[], depth: number): unknown {
    const offset = node.range?.[0] ?? 0;
    left -= 1;
    if (left < 0) throw new Refused(`unfolds to more than ${mostValues} values`, offset);
    if (depth > mostDepth) throw new Refused('is nested too deeply', offset);
    if (isAlias(node)) {
      const target = node.resolve(document);
      if (target === undefined) throw new Refused(`there is no anchor &${node.source} before this`, offset);
      return plain(target, path, depth + 1);
    }
    const at = nameOf(path);
    // Of what an alias repeats, the place of the original is the one to mend.
    values.set(at, offset);
    if (isScalar(node)) return node.value;
    if (isSeq(node)) return node.items.map((item, index) => plain(item as Node, [...path, index], depth + 1));
    if (!isMap(node)) throw new Refused('is neither text nor a list nor a map', offset);
    const entries = new Map<string, unknown>();
    for (const pair of node.items) {
      const key = pair.key;
      const keyAt = (key as Node | null)?.range?.[0] ?? offset;
      if (!isScalar(key) || key.value === null) throw new Refused('a key must be a word', keyAt);
      const name = String(key.value);
      const inner = [...path, name];
      if (entries.has(name)) {
        const first = placeAt(keys.get(nameOf(inner)) ?? 0);
        throw new Refused(`${name} is there twice, first in line ${first.line}`, keyAt);
      }
      keys.set(nameOf(inner), keyAt);
      if (pair.value === null) values.set(nameOf(inner), keyAt);
      entries.set(name, pair.value === null ? null : plain(pair.value as Node, inner, depth + 1));
    }
    return Object.fromEntries(entries);
  }

  const placeIn = (map: ReadonlyMap<string, number>, path: readonly PropertyKey[]): Place => {
    for (let length = path.length; length >= 0; length -= 1) {
      const name = nameOf(path.slice(0, length));
      const offset = (length === path.length ? map : values).get(name) ?? values.get(name);
      if (offset !== undefined) return placeAt(offset);
    }
    return { line: 1, column: 1 };
  };
  try {
    const value = plain(document.contents, [], 0);
    return {
      kind: 'value',
      value,
      place: (path) => placeIn(values, path),
      keyPlace: (path) => placeIn(keys, path),
    };
  } catch (error) {
    if (error instanceof Refused) return problem(error.message, error.offset);
    throw error;
  }
}

/** Tells before the library descends, which takes the process down where it goes too deep; null: it does not. */
function tooDeepAt(text: string, lineCounter: LineCounter): number | null {
  const parser = new Parser(lineCounter.addNewLine);
  lineCounter.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    if (parser.stack.length > mostStacked) return parser.offset;
  }
  for (const _ of parser.end());
  return null;
}

function nameOf(path: readonly PropertyKey[]): string {
  return JSON.stringify(path.map(String));
}

/** The library's message as the end of a line of ours. */
function sentence(message: string): string {
  const [line = ''] = message.split('\n');
  return line.replace(/; please use .*/, '').replace(/\.$/, '');
}

/**
 * Reads YAML to plain values with their places in the file. The schema is YAML 1.2 core, also where a file says 1.1:
 * `on`, `off`, `no` and dates are text.
 */

import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml';
import { messageOf } from '../errors.ts';
import type { Place, Problem } from './watch-list.ts';

export type Located =
  | {
      readonly kind: 'value';
      readonly value: unknown;
      /** The start of the value at a path, or of the nearest value around it. */
      place(path: readonly PropertyKey[]): Place;
      /** The start of the key at the end of the path. */
      keyPlace(path: readonly PropertyKey[]): Place;
    }
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

/** Bounds the expansion of nested aliases: a few lines can otherwise stand for billions of values. */
const maxAliasCount = 10_000;

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
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    schema: 'core',
    merge: false,
    logLevel: 'error',
  });
  // One mistake in YAML causes several errors; the first one names it.
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined)
    return problem(
      mistakeIn(document, wrong, (offset) => placeAt(offset).line),
      wrong.pos[0],
    );
  if (document.contents === null) return problem('the file is empty', 0);
  try {
    const value: unknown = document.toJS({ maxAliasCount });
    const find = (path: readonly PropertyKey[], wantsKey: boolean) => {
      let node: Node = document.contents as Node;
      let offset = startOf(node) ?? 0;
      for (const [index, name] of path.entries()) {
        if (isAlias(node)) node = node.resolve(document) ?? node;
        if (!isCollection(node)) break;
        const item = isMap(node)
          ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(name))
          : node.items[Number(name)];
        if (item === undefined) break;
        const next = isPair(item) ? item.value : item;
        const key = isPair(item) ? startOf(item.key) : undefined;
        offset = (wantsKey && index === path.length - 1 ? key : startOf(next)) ?? key ?? offset;
        node = next as Node;
      }
      return placeAt(offset);
    };
    return { kind: 'value', value, place: (path) => find(path, false), keyPlace: (path) => find(path, true) };
  } catch (error) {
    return problem(`invalid YAML: ${firstSentence(messageOf(error))}`, 0);
  }
}

function mistakeIn(document: Document, { code, message, pos }: YAMLError, lineAt: (offset: number) => number): string {
  if (code === 'TAB_AS_INDENT') return 'indent with spaces, not tabs';
  let twice: string | null = null;
  if (code === 'DUPLICATE_KEY')
    visit(document, {
      Map(_, { items }) {
        const again = items.find(({ key }) => startOf(key) === pos[0])?.key;
        if (!isScalar(again)) return undefined;
        const first = items.find(({ key }) => isScalar(key) && key.value === again.value)?.key;
        const lines = [lineAt(startOf(first) ?? pos[0]), lineAt(pos[0])];
        twice = `${String(again.value)} is given twice: ${
          lines[0] === lines[1] ? `line ${lines[0]}` : `lines ${lines.join(' and ')}`
        }`;
        return visit.BREAK;
      },
    });
  return twice ?? `invalid YAML: ${firstSentence(message)}`;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null)?.range?.[0];
}

function firstSentence(message: string): string {
  if (message.startsWith('Maximum call stack')) return 'nested too deeply';
  const [line = ''] = message.split('\n');
  return line.replace(/; please use .*/, '').replace(/\.$/, '');
}

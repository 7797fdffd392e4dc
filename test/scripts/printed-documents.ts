/** Checks what tests make commands print with --json against the schemas that users read. */

import { documents } from '../../scripts/output/documents.ts';
import type { Ended } from './ended.ts';

type Name = keyof typeof documents;

/** The document that a command prints. Null: text. */
export function documentOf(words: readonly string[]): Name | null {
  if (!words.includes('--json')) return null;
  const [command = '', what = ''] = words;
  if (words.includes('--dry-run') && command === 'backfill') return 'plan';
  if (command === 'track' && !['candles', 'history'].includes(what)) return 'track-list';
  if (command === 'notify' && words.includes('--test')) return 'notify-test';
  if (command === 'sources' && what === 'refusals') return 'source-refusals';
  return command in documents ? (command as Name) : null;
}

/** @throws ZodError when a document is not as its schema says. */
export function checkDocuments<Result extends Pick<Ended, 'stdout'>>(words: readonly string[], ended: Result): Result {
  const name = documentOf(words);
  if (name === null || ended.stdout === '') return ended;
  const isPerLine = name === 'track' || words.includes('--watch');
  // A line without its end was cut off by who closed the pipe.
  const texts = isPerLine ? ended.stdout.split('\n').slice(0, -1) : [ended.stdout];
  for (const text of texts) documents[name].parse(JSON.parse(text));
  return ended;
}

/** What is wrong with a watch list, and where. */

import { visible } from '../contract/names.ts';

export interface Place {
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

export interface Problem extends Place {
  readonly message: string;
}

/** `tidemark.yaml:12:5: from is missing`, as editors and terminals find their way by. */
export function problemText(file: string, { line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${visible(message)}`;
}

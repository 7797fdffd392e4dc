/** Reads the file of a watch list, and what processes need of it at their start, without the parser of YAML. */

import { readFile, stat } from 'node:fs/promises';
import { codeOf, messageOf } from '../errors.ts';

/** Enough for thousands of markets. A larger file is not a watch list. */
const maxBytes = 64 * 1024;

export type FileText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Reads the whole file. Directories, pipes and large files are unreadable. */
export async function readWatchListFile(path: string): Promise<FileText> {
  try {
    // Reading a pipe would block.
    const found = await stat(path);
    if (!found.isFile()) return { kind: 'unreadable', why: 'is not a regular file' };
    if (found.size > maxBytes) return { kind: 'unreadable', why: `has more than ${maxBytes} bytes` };
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path)) };
  } catch (error) {
    if (error instanceof TypeError) return { kind: 'unreadable', why: 'is not UTF-8 text' };
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    return { kind: 'unreadable', why: `cannot be read: ${messageOf(error)}` };
  }
}

/** Whether the file names a source. Nothing else of it is read: the scheduler says what is wrong with it. */
export async function namesSource(file: string): Promise<boolean> {
  return hasKey(file, 'sources?');
}

/** Whether the file may have ranges of the default source. */
export async function namesRanges(file: string): Promise<boolean> {
  return hasKey(file, 'ranges');
}

async function hasKey(file: string, key: string): Promise<boolean> {
  const found = await readWatchListFile(file);
  return found.kind === 'text' && new RegExp(`^[^#\\n]*\\b${key}["']?\\s*:`, 'm').test(found.text);
}

/** The file of the watch list, as text. */

import { readFile, stat } from 'node:fs/promises';

/** A watch list of this size names thousands of markets one by one. What is larger is another file. */
export const mostBytes = 64 * 1024;

export type FileText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** Reads it whole. A directory, a pipe or a file that is too large is not read, and said to be unreadable. */
export async function readWatchFile(path: string): Promise<FileText> {
  try {
    // A pipe would be waited for.
    const found = await stat(path);
    if (!found.isFile()) return { kind: 'unreadable', why: 'is no file' };
    if (found.size > mostBytes) return { kind: 'unreadable', why: `has more than ${mostBytes} bytes` };
    const bytes = await readFile(path);
    if (bytes.length > mostBytes) return { kind: 'unreadable', why: `has more than ${mostBytes} bytes` };
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    if (error instanceof TypeError) return { kind: 'unreadable', why: 'is not UTF-8 text' };
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    const why = error instanceof Error ? error.message : String(error);
    return { kind: 'unreadable', why: `cannot be read: ${why}` };
  }
}

/** Reads the file of the watch list. */

import { readFile, stat } from 'node:fs/promises';

/** Enough for thousands of markets. A larger file is not a watch list. */
export const maxBytes = 64 * 1024;

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
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' };
    const why = error instanceof Error ? error.message : String(error);
    return { kind: 'unreadable', why: `cannot be read: ${why}` };
  }
}

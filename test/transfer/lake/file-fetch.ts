/** Lets a reader that only knows `fetch` read `file://`, as Iceberg names files. */

import { existsSync, readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';

export function fetchFiles(): void {
  const original = globalThis.fetch;
  onTestFinished(() => {
    globalThis.fetch = original;
  });
  globalThis.fetch = async (input, init) => {
    const url = String(input instanceof Request ? input.url : input);
    if (!url.startsWith('file://')) return original(input, init);
    const path = url.slice('file://'.length);
    if (!existsSync(path)) return new Response(null, { status: 404 });
    const content = readFileSync(path);
    const headers = { 'content-length': String(content.length) };
    if (init?.method === 'HEAD') return new Response(null, { headers });
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(new Headers(init?.headers).get('range') ?? '') ?? [];
    if (from === undefined) return new Response(content, { headers });
    return new Response(content.subarray(Number(from), Number(to) + 1), { status: 206 });
  };
}

/** Encodes row groups: large ones in a thread of its own, beside the reading. */

import { Worker } from 'node:worker_threads';
import type { FilledColumn } from './columns.ts';
import { type EncodedGroup, encodeGroup, loadCompression } from './pages.ts';

/** Fewer are encoded in the time in which a thread starts. */
const fewestOfThread = 8192;
/** There is no compiled thread beside the sources, which tests run. */
const canHaveThread = !import.meta.url.endsWith('.ts');

let thread: EncoderThread | null = null;

/** @param columns must not change until it is done. */
export async function encode(columns: readonly FilledColumn[]): Promise<EncodedGroup> {
  if (canHaveThread && (columns[0]?.rows ?? 0) >= fewestOfThread) thread ??= new EncoderThread();
  if (thread !== null) return thread.encode(columns);
  await loadCompression();
  return encodeGroup(columns);
}

interface Asked {
  resolve(group: EncodedGroup): void;
  reject(error: unknown): void;
}

/** It ends with the process, which does not wait for it. */
class EncoderThread {
  readonly #worker = new Worker(new URL('./encoder-thread.js', import.meta.url), {
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  /** It answers in the order of the questions. */
  readonly #asked: Asked[] = [];

  constructor() {
    this.#worker.unref();
    this.#worker.on('message', (group: EncodedGroup) => {
      this.#asked.shift()?.resolve(group);
      if (this.#asked.length === 0) this.#worker.unref();
    });
    this.#worker.on('error', (error) => {
      thread = null;
      for (const asked of this.#asked.splice(0)) asked.reject(error);
    });
  }

  encode(columns: readonly FilledColumn[]): Promise<EncodedGroup> {
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject });
      this.#worker.ref();
      this.#worker.postMessage(columns);
    });
  }
}

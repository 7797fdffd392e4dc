/** Where BullMQ keeps its queues: Redis or PostgreSQL. All that differs between the two is behind this. */

import type { BackendClasses, BackendFactory, IQueueBackend, Queue } from 'bullmq';

export interface QueueStore {
  readonly kind: 'redis' | 'postgres';
  /** Makes the connections of one queue or worker; what it is for is passed as BullMQ's `connection` option. */
  readonly connect: BackendFactory<IQueueBackend, 'queue' | 'worker'>;
  /**
   * @returns what those who work on the queue should know of the store; null: nothing.
   * @throws TidemarkError within seconds when the store cannot be used.
   */
  check(): Promise<string | null>;
}

/** BullMQ's classes on either store. */
export type BullClasses = BackendClasses<IQueueBackend, 'queue' | 'worker'>;

/** A queue on either store. */
export type BullQueue<Data, Name extends string> = Queue<
  Data,
  void,
  Name,
  Data,
  void,
  Name,
  IQueueBackend,
  'queue' | 'worker'
>;

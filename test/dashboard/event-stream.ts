import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { onTestFinished } from 'vitest';
import type { Change, Snapshot, Trouble } from '../../dashboard/shapes.ts';
import type { Headline } from '../../planning/conditions.ts';

export type StreamEvent =
  | { readonly name: 'snapshot'; readonly data: Snapshot }
  | { readonly name: 'change'; readonly data: Change }
  | { readonly name: 'trouble'; readonly data: Trouble };

export interface EventStream {
  readonly events: readonly StreamEvent[];
  /** The first event, of those that are not returned yet, that is wanted. It rejects when the stream ends before. */
  next(isWanted?: (event: StreamEvent) => boolean): Promise<StreamEvent>;
  leave(): void;
  readonly ended: Promise<void>;
}

export async function listenTo(url: string): Promise<EventStream> {
  const request = get(url, { agent: false });
  request.on('error', () => {});
  onTestFinished(() => void request.destroy());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const events: StreamEvent[] = [];
  let taken = 0;
  let isOver = false;
  let rest = '';
  let wake = () => {};
  response.setEncoding('utf8').on('data', (text: string) => {
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, name, data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
      events.push({ name, data: JSON.parse(data) } as StreamEvent);
    }
    wake();
  });
  const ended = new Promise<void>((resolve) => {
    response
      .on('error', () => {})
      .on('close', () => {
        isOver = true;
        resolve();
        wake();
      });
  });
  return {
    events,
    async next(isWanted = () => true) {
      for (;;) {
        for (; taken < events.length; taken += 1) {
          const event = events[taken];
          if (event === undefined || !isWanted(event)) continue;
          taken += 1;
          return event;
        }
        if (isOver) throw new Error('the stream has ended');
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    leave: () => request.destroy(),
    ended,
  };
}

export function headlineOf({ name, data }: StreamEvent): Headline {
  return name === 'trouble' ? data.headline : data.summary.state.headline;
}

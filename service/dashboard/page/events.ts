/** Keeps the stream of events open, whatever becomes of the server and the network. */

import type { Change, Snapshot } from '../shapes.ts';
import type { Model } from './model.ts';

/** The server says something every ten seconds. */
const silenceMs = 25_000;
const retryMs = 3000;

export function listen(model: Model): void {
  let source: EventSource;
  let silence: number | undefined;

  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(reconnect, silenceMs);
  };
  const reconnect = () => {
    model.setConnection('lost');
    source.close();
    clearTimeout(silence);
    silence = setTimeout(connect, retryMs);
  };
  const connect = () => {
    source = new EventSource('dashboard/events');
    heard();
    source.addEventListener('snapshot', ({ data }) => {
      heard();
      model.takeSnapshot(JSON.parse(data) as Snapshot);
    });
    source.addEventListener('change', ({ data }) => {
      heard();
      model.takeChange(JSON.parse(data) as Change);
    });
    source.addEventListener('trouble', () => {
      heard();
      model.setConnection('trouble');
    });
    source.addEventListener('error', () => {
      model.setConnection('lost');
      // An answer other than a stream ends it for good; a broken connection the browser mends itself.
      if (source.readyState === EventSource.CLOSED) reconnect();
    });
  };
  connect();
}

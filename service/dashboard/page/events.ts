/**
 * Keeps the stream of events open while the page can be seen, whatever becomes of the server and the network.
 *
 * Shown: a stream is open, or is tried again. Hidden: after a little while the stream is given up, because a browser has
 * six connections to a host over HTTP/1.1, whichever of its tabs hold them: hidden ones would leave none for the one that
 * is looked at. Shown again, the page connects at once, and is sent what it missed as a snapshot.
 */

import type { Change, Snapshot } from '../shapes.ts';
import type { Model } from './model.ts';

/** The server says something every ten seconds. */
const silenceMs = 25_000;
const retryMs = 3000;
/** Who only passes by another tab comes back to a stream that is open. */
const hiddenMs = 2000;

export function listen(model: Model): void {
  let source: EventSource | null = null;
  let next: number | undefined;
  let leaving: number | undefined;

  const heard = () => {
    clearTimeout(next);
    next = setTimeout(reconnect, silenceMs);
  };
  const close = () => {
    clearTimeout(next);
    source?.close();
  };
  const reconnect = () => {
    model.setConnection('lost');
    close();
    next = setTimeout(connect, retryMs);
  };
  const connect = () => {
    const opened = new EventSource('dashboard/events');
    source = opened;
    heard();
    opened.addEventListener('snapshot', ({ data }) => {
      heard();
      model.takeSnapshot(JSON.parse(data) as Snapshot);
    });
    opened.addEventListener('change', ({ data }) => {
      heard();
      model.takeChange(JSON.parse(data) as Change);
    });
    opened.addEventListener('trouble', () => {
      heard();
      model.setConnection('trouble');
    });
    opened.addEventListener('error', () => {
      model.setConnection('lost');
      // An answer other than a stream ends it for good; a broken connection the browser mends itself.
      if (opened.readyState === EventSource.CLOSED) reconnect();
    });
  };
  const pause = () => {
    close();
    model.setConnection('paused');
  };
  const look = () => {
    clearTimeout(leaving);
    if (document.visibilityState === 'hidden') {
      leaving = setTimeout(pause, hiddenMs);
    } else if (model.connection === 'paused') {
      model.setConnection('connecting');
      connect();
    }
  };
  connect();
  // It may have been opened in the background.
  look();
  document.addEventListener('visibilitychange', look);
}

/**
 * Ends connections when the service closes. Node ends those that wait between two requests, but not one that never sent
 * a whole request: browsers and balancers open such in advance, and each would hold the close up.
 */

import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** @param patienceMs how long an answer that is under way may take from then on. */
export function endConnectionsOnClose(app: FastifyInstance, patienceMs: number): void {
  const underWay = new Map<Socket, number>();
  let isClosing = false;
  app.server.on('connection', (socket: Socket) => {
    if (isClosing) return void socket.destroy();
    underWay.set(socket, 0);
    socket.once('close', () => underWay.delete(socket));
  });
  app.server.on('request', ({ socket }, response) => {
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (!underWay.has(socket)) return;
      const left = (underWay.get(socket) ?? 1) - 1;
      underWay.set(socket, left);
      if (isClosing && left === 0) socket.destroySoon();
    });
  });
  app.addHook('preClose', async () => {
    isClosing = true;
    for (const [socket, requests] of underWay) if (requests === 0) socket.destroy();
    setTimeout(() => {
      for (const socket of underWay.keys()) socket.destroy();
    }, patienceMs).unref();
  });
}

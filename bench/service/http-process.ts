/**
 * A process that answers every request with the same bytes, with Node's `http` and nothing else: what HTTP costs
 * without a statement, a framework or a check.
 */

import { createServer } from 'node:http';

process.once('message', (bytes: number) => {
  const body = Buffer.alloc(bytes, 'a');
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.setHeader('Content-Length', bytes);
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') process.send?.(address.port);
  });
});

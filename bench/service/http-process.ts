/**
 * A process that answers every request with the same text, with Node's `http` and nothing else: what HTTP costs without a
 * statement, a framework or a check.
 */

import { createServer } from 'node:http';

process.once('message', (bytes: number) => {
  const text = 'a'.repeat(bytes);
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.setHeader('Content-Length', bytes);
    response.end(text);
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') process.send?.(address.port);
  });
});

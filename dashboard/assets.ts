/** Serves the page's files from the build. */

import type { FastifyInstance } from 'fastify';
import { readBuiltFile, sendBuiltFile } from '../service/pages/built-file.ts';
import { policyOf } from '../service/pages/pages.ts';

/** @returns adds the routes of the page. @throws Error when the page has not been built. */
export function readAssets(directory: string): (scope: FastifyInstance) => void {
  const page = readBuiltFile(directory, 'index.html');
  const files = ['app.js', 'app.css', 'licences.txt'].map((name) => ({ name, file: readBuiltFile(directory, name) }));
  return (scope) => {
    scope.get('/', async (request, reply) =>
      sendBuiltFile(request, reply.header('content-security-policy', policyOf("'none'")), page),
    );
    for (const { name, file } of files)
      scope.get(`/dashboard/${name}`, async (request, reply) => sendBuiltFile(request, reply, file));
  };
}

// `node --import` of it gives the modules of a built Tidemark the fast clock. The queue keeps the real one: it compares
// its times with those of Redis.

import { register } from 'node:module';

if (new URL(import.meta.url).searchParams.has('hooks') === false) register(`${import.meta.url}?hooks`);

const substitute = new URL('fast-clock.js', import.meta.url);

export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const from = context.parentURL ?? '';
  if (!found.url.endsWith('/dist/clock.js') || /\/dist\/queue\/|\/fast-clock\.js/.test(from)) return found;
  const given = new URL(substitute);
  given.searchParams.set('real', found.url);
  return { ...found, url: given.href, shortCircuit: true };
}

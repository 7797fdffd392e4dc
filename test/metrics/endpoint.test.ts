import { expect, it, onTestFinished } from 'vitest';
import { openMetricsEndpoint } from '../../metrics/endpoint.ts';

it('says whether the process answers, and whether it has started and is not told to stop', async () => {
  const read = async () => ({ contentType: 'text/plain', text: 'some 1\n' });
  const endpoint = await openMetricsEndpoint(read, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => endpoint.close());
  const said = async (path: string) => {
    const answer = await fetch(new URL(path, endpoint.url));
    return [answer.status, await answer.text()];
  };
  const all = async () => [await said('/healthz'), await said('/readyz')];
  const lives = [200, 'ok\n'];
  expect(await all()).toEqual([lives, [503, 'starting\n']]);
  endpoint.reach('ready');
  expect(await all()).toEqual([lives, [200, 'ready\n']]);
  endpoint.reach('stopping');
  expect(await all()).toEqual([lives, [503, 'stopping\n']]);
  expect(await said('/metrics')).toEqual([200, 'some 1\n']);
});

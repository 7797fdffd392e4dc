import { expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../../parts/test-database.ts';
import { waitFor } from '../../parts/wait-for.ts';
import { start, tidemark } from '../command.ts';

it('rejects down while a worker or a scheduler is connected', async () => {
  const { url, drop } = await createTestDatabase();
  onTestFinished(drop);
  const env = { DATABASE_URL: url, SOURCE_URL: 'http://127.0.0.1:1/v2' };
  expect((await tidemark(['migrate'], env)).exitCode).toBe(0);
  const parts = ['worker', 'scheduler'];
  for (const part of parts) {
    const service = start([part], env);
    const isThere = async () => (await tidemark(['status', '--check', part], env)).exitCode === 0;
    await waitFor(`the ${part}`, isThere);
    const refused = await tidemark(['migrate', 'down', '--yes'], env);
    expect(refused.stderr).toMatch(
      /^tidemark: DATABASE_IN_USE: in use by (\w+ and )?\w+; stop it first.*\n$/,
    );
    expect(refused.stderr).toContain(part);
    expect(refused.exitCode).toBe(5);
    expect((await tidemark(['status'], env)).exitCode).toBe(0);
    service.kill('SIGTERM');
    expect((await service.ended).exitCode).toBe(0);
  }
  const down = await tidemark(['migrate', 'down', '--yes'], env);
  expect(down).toMatchObject({ exitCode: 0, stderr: '' });
  // There is nothing left to be in use.
  expect((await tidemark(['migrate', 'down', '--yes'], env)).exitCode).toBe(0);
});

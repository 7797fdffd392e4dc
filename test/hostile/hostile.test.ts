import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { dayMs } from '../../contract/intervals.ts';
import { describeMissing } from '../parts/describe-needing.ts';
import { emptyDirectory, processesMs } from '../scripts/command.ts';
import { type HostileSource, startHostileSource } from './hostile-source.ts';
import { type Misbehaviour, misbehaviours } from './misbehaviours.ts';
import { type Outcome, prepareRun } from './run-against.ts';

/** Two days that closed long ago, in twenty windows. */
const endMs = Math.floor(Date.now() / dayMs) * dayMs - 30 * dayMs;
const range = { startMs: endMs - 2 * dayMs, endMs };

interface Outcomes {
  readonly hostile: Outcome;
  /** The result of a second `backfill`, from a source that now answers correctly. */
  readonly calm: Outcome;
}

async function outcomesOf(
  source: HostileSource,
  name: string,
  { alsoGave }: Misbehaviour,
  redisUrl: string | null,
): Promise<Outcomes> {
  const run = await prepareRun(source.url(name), range, { redisUrl, alsoGave });
  try {
    const hostile = await run.backfill();
    source.calm(name);
    return { hostile, calm: await run.backfill() };
  } finally {
    await run.close();
  }
}

describe('backfill', () => {
  const redisUrl = inject('redisUrl');
  let source: HostileSource;
  beforeAll(async () => {
    source = await startHostileSource();
  });
  afterAll(() => source.close());

  // Several at once, because each mostly waits.
  it.concurrent.each(Object.entries(misbehaviours))(
    'never loses data silently when the source sends %s',
    async (name, misbehaviour) => {
      const { completes, rejects = false } = misbehaviour;
      const { hostile, calm } = await outcomesOf(source, name, misbehaviour, redisUrl);
      expect(hostile, hostile.said).toMatchObject({ silent: 0, wrong: 0 });
      expect(hostile.exitCode === 0 && hostile.missing > 0, hostile.said).toBe(false);
      if (completes) expect(hostile, hostile.said).toMatchObject({ exitCode: 0, missing: 0 });
      expect(hostile.rejected > 0).toBe(rejects);
      // Rejected rows are reported until they are repaired or accepted. Unreadable windows are deferred for minutes.
      expect(calm, calm.said).toMatchObject({ silent: 0, wrong: 0 });
      if (completes) expect(calm, calm.said).toMatchObject({ exitCode: 0, missing: 0 });
    },
    processesMs * 4,
  );
});

function selfSigned(): { key: string; cert: string } | null {
  const directory = emptyDirectory();
  const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
  try {
    execFileSync('openssl', [...words, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  } catch {
    return null;
  }
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
const describeWithOpenssl = (title: string, body: () => void) =>
  hasOpenssl ? describe(title, body) : describeMissing(title, 'openssl is not installed', body);

describeWithOpenssl('a source with an untrusted certificate', () => {
  it(
    'is not trusted, and its error names the certificate',
    async () => {
      const source = await startHostileSource(selfSigned() ?? undefined);
      onTestFinished(() => source.close());
      source.calm('untrusted');
      const run = await prepareRun(source.url('untrusted'), range, { redisUrl: null });
      onTestFinished(() => run.close());
      const outcome = await run.backfill();
      expect(outcome, outcome.said).toMatchObject({ silent: 0, wrong: 0 });
      expect(outcome.missing).toBeGreaterThan(2000);
      expect([3, 4]).toContain(outcome.exitCode);
      expect(outcome.said).toMatch(/certificate/i);
    },
    processesMs,
  );
});

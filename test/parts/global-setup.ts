/** Starts the real parts once for the whole run, passes their addresses to every test, and stops them at the end. */

import type { TestProject } from 'vitest/node';
import { type ChromiumPart, obtainChromium } from './chromium-part.ts';
import { obtainPlain, obtainTimescale } from './obtain-database.ts';
import type { ProvidedParts } from './provided.ts';
import { obtainRedis } from './redis-part.ts';
import { closeAdministrators, createTemplate } from './test-database.ts';

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const outcomes = await Promise.allSettled([obtainTimescale(), obtainPlain(), obtainRedis()]);
  const drops: (() => Promise<void>)[] = [];
  const stopAll = async () => {
    // A server that does not belong to this run goes on.
    await Promise.allSettled(drops.map((drop) => drop()));
    await closeAdministrators();
    const parts = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : ''));
    await Promise.all(parts.map((part) => (typeof part === 'string' ? undefined : part.stop())));
  };
  try {
    const parts = provided(result(outcomes[0]), result(outcomes[1]), result(outcomes[2]), obtainChromium());
    const updatesDocs = project.config.snapshotOptions.updateSnapshot === 'all';
    const templates: Record<string, string> = {};
    for (const serverUrl of new Set([parts.databaseUrl, parts.plainDatabaseUrl])) {
      if (serverUrl === null) continue;
      const { name, drop } = await createTemplate(serverUrl);
      drops.push(drop);
      templates[serverUrl] = name;
    }
    const all: ProvidedParts = { ...parts, templates, updatesDocs };
    for (const key of Object.keys(all) as (keyof ProvidedParts)[]) project.provide(key, all[key]);
  } catch (error) {
    await stopAll();
    throw error;
  }
  return stopAll;
}

type Obtained = Awaited<ReturnType<typeof obtainTimescale>>;
type ObtainedRedis = Awaited<ReturnType<typeof obtainRedis>>;

function result<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

function provided(
  timescale: Obtained,
  plainPart: Obtained,
  redis: ObtainedRedis,
  chromium: ChromiumPart | string,
): Omit<ProvidedParts, 'templates' | 'updatesDocs'> {
  const main = typeof timescale === 'string' ? plainPart : timescale;
  if (typeof main === 'string') throw new Error(`no database to test against: ${timescale}; ${main}`);
  const hasTimescale = main.timescale !== null;
  const plain = hasTimescale ? plainPart : main;
  const plainMissing = typeof plain === 'string' ? plain : '';
  const redisMissing = typeof redis === 'string' ? redis : '';
  const timescaleMissing = typeof timescale === 'string' ? timescale : `${timescale.server} there lacks it`;
  const extension = hasTimescale ? ` with TimescaleDB ${main.timescale}` : ' without TimescaleDB';
  const report = [`Database: ${main.server}${extension}, from ${main.how}`];
  if (!hasTimescale) report.push(`  TimescaleDB was not at hand: ${timescaleMissing}`);
  else if (typeof plain === 'string') report.push(`  Plain PostgreSQL was not at hand: ${plainMissing}`);
  else report.push(`Plain PostgreSQL beside it: ${plain.server}, from ${plain.how}`);
  report.push(
    typeof redis === 'string'
      ? `Queue backends: PostgreSQL only; Redis was not at hand: ${redis}`
      : `Queue backends: PostgreSQL, and ${redis.server}, from ${redis.how}`,
  );
  report.push(
    typeof chromium === 'string'
      ? `Browser: none; Chromium was not at hand: ${chromium}`
      : `Browser: ${chromium.version}, from ${chromium.how}`,
  );
  return {
    databaseUrl: main.url,
    hasTimescale,
    plainDatabaseUrl: typeof plain === 'string' ? null : plain.url,
    redisUrl: typeof redis === 'string' ? null : redis.url,
    chromiumPath: typeof chromium === 'string' ? null : chromium.path,
    absent: {
      timescale: hasTimescale ? '' : timescaleMissing,
      plainPostgres: plainMissing,
      redis: redisMissing,
      chromium: typeof chromium === 'string' ? chromium : '',
    },
    partsReport: report,
  };
}

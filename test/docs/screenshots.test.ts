/**
 * The pictures of the dashboard in README.md and docs/dashboard.md, of a simulated year. `npm run docs` takes them.
 * test/dashboard tests what the page shows.
 */

import { existsSync, readFileSync, statSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { dayMs, hourMs } from '../../model/intervals.ts';
import type { CandleSeries } from '../../model/series.ts';
import { createSimulator } from '../../simulator/simulator.ts';
import type { WindowCommit } from '../../store/commit/prepare-window.ts';
import { trackSeries } from '../../store/series/series.ts';
import { open, withBrowser } from '../dashboard/browser/browser.ts';
import { type DashboardWorld, openDashboardWorld, quietQueue } from '../dashboard/dashboard-world.ts';
import { pointLinesOf } from '../parts/points.ts';
import { fillOf, rulesOf } from '../parts/windows.ts';
import { bitcoinHours } from '../queue/queue-parts.ts';
import { commitWindow } from '../store/committing.ts';
import { useStore } from '../store/open-store.ts';
import { loadSyntheticYear } from './synthetic-year.ts';

const nowMs = Date.UTC(2025, 0, 1, 0, 40, 20);
const endMs = Date.UTC(2025, 0, 1);
const maxBytes = 200_000;

const minutes: CandleSeries = { ...bitcoinHours, baseId: 'ethereum', interval: 'm1' };

it('every picture in the documents exists and is small', () => {
  const texts = ['README.md', 'docs/dashboard.md'].map((name) => readFileSync(name, 'utf8'));
  const shown = new Set(
    texts.flatMap((text) => [...text.matchAll(/images\/[\w-]+\.png/g)].map(([name]) => `docs/${name}`)),
  );
  expect(shown.size).toBeGreaterThanOrEqual(8);
  for (const name of shown) {
    expect(existsSync(name), name).toBe(true);
    expect(statSync(name).size, name).toBeLessThan(maxBytes);
  }
});

const describeTaking = inject('updatesDocs') ? describe : () => {};
describeTaking('pictures of the dashboard', () => {
  withBrowser();
  const store = useStore();
  let world: DashboardWorld;

  beforeAll(async () => {
    await loadSyntheticYear(store.database);
    const seriesId = await halfOfDecember();
    await store.database.pool.query(
      `insert into tidemark.fetches (time, dataset, series_id, lane, attempt, verdict, duration_ms, error)
       select to_timestamp($1) - i * interval '0.4 seconds', 'candles', $2, case when i % 9 = 0 then 'refresh' else 'backfill' end,
              1, case when i % 97 = 0 then 'server_error' else 'filled' end, 80,
              case when i % 97 = 0 then 'the source answered 503' end
       from generate_series(0, 3600) i`,
      [nowMs / 1000, seriesId],
    );
    const next = Array.from({ length: 6 }, (_, place) => ({
      startMs: endMs - (14 - place) * dayMs,
      endMs: endMs - (13 - place) * dayMs,
      isActive: place < 4,
    }));
    world = await openDashboardWorld(store, { synthetic: true }, 0, () => nowMs);
    world.queue = {
      ...quietQueue,
      depth: { waiting: 2, active: 4, delayed: 0, workers: 2 },
      perMinute: 200,
      windows: new Map([[seriesId, next]]),
    };
  });
  afterAll(() => world.close());

  /** A series with a backfill in progress. */
  async function halfOfDecember(): Promise<number> {
    const startMs = endMs - 31 * dayMs;
    const { seriesId } = await trackSeries(store.database, minutes, startMs, null);
    const { truth } = createSimulator({ seed: 'docs', clock: { now: () => nowMs } });
    for (const window of [
      { startMs, endMs: endMs - 14 * dayMs },
      { startMs: endMs - dayMs, endMs },
    ]) {
      await commitWindow(store.database, {
        window: fillOf({ seriesId, series: minutes, ...window }),
        attempt: 1,
        nowMs: nowMs - 2 * hourMs,
        rules: rulesOf(hourMs),
        answer: {
          rows: pointLinesOf('candles', truth.candles(minutes, window)),
          rejected: [],
          sourceTimeMs: nowMs,
          status: 200,
          bytes: 0,
          durationMs: 0,
        },
      } as WindowCommit);
    }
    return seriesId;
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`show the overview, a series, problems and the calendar, ${colorScheme}`, async () => {
      const { page } = await open(world.url, { colorScheme, viewport: { width: 1120, height: 1680 } });
      const picture = async (name: string, part: Locator | null = null) => {
        // Two frames later everything is drawn.
        await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
        const path = `docs/images/${name}-${colorScheme}.png`;
        await (part ?? page).screenshot({ path });
      };
      await page.getByText('synthetic data').waitFor();
      await page.locator('rect.queued, rect.active').first().waitFor();
      await page.locator('.band rect.failed').first().waitFor();
      await page.locator('.requests rect.covered').first().waitFor({ state: 'attached' });
      await page
        .getByText(/ requests? to go/)
        .first()
        .waitFor();
      // Without the bands of some series it shows less than README.md says.
      const { y: top = 0, height = 0 } = (await page.locator('.band').nth(4).boundingBox()) ?? {};
      expect(top + height).toBeLessThan(1680);
      await picture('overview');
      await page.setViewportSize({ width: 1120, height: 1080 });
      const calendar = page.locator('section', { has: page.getByRole('heading', { name: 'Coverage by month' }) });
      await calendar.getByRole('row', { name: /^2024/ }).waitFor();
      await picture('calendar', calendar);
      await page.getByRole('link', { name: 'binance ethereum/tether h1' }).click();
      await page.getByText('Every candle of h1, as stored.').waitFor();
      await page.getByRole('button', { name: '1 year' }).click();
      await page.getByText('Candles of d1, aggregated from h1.').waitFor();
      const box = await page.locator('.chart').boundingBox();
      await page.mouse.move((box?.x ?? 0) + 430, (box?.y ?? 0) + 120);
      await page.locator('.exact', { hasText: 'close' }).waitFor();
      await picture('series');
      await page.getByRole('link', { name: 'Problems' }).click();
      await page.getByText('What helps:').waitFor();
      await picture('problems');
    });
  }
});

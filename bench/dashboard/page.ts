/** What the page weighs on its first visit, and how far its views move while they load, in a real browser. */

import { type Browser, chromium } from 'playwright-core';
import { table } from '../../scripts/output/table.ts';
import { obtainChromium } from '../../test/parts/chromium-part.ts';
import { figure } from '../spread.ts';

const widths = [360, 768, 1280];

export interface MeasuredPage {
  readonly view: string;
  /** Bytes of all answers but the endless one, compressed and with headers. */
  readonly bytes: number;
  /** Cumulative layout shift at each of the widths. */
  readonly shifts: readonly number[];
}

/** @param page address of the dashboard. @returns a sentence where there is no browser. */
export async function measurePage(page: string, seriesId: number): Promise<readonly MeasuredPage[] | string> {
  const found = await obtainChromium();
  if (typeof found === 'string') return `not measured: ${found}`;
  const browser = await chromium.launch({ executablePath: found.path, args: ['--disable-gpu'] });
  try {
    const views = {
      overview: '',
      problems: '?view=problems',
      events: '?view=events',
      'a series': `?series=${seriesId}`,
      '/docs': 'docs',
      '/keys': 'keys',
    };
    const measured: MeasuredPage[] = [];
    for (const [view, path] of Object.entries(views)) {
      const visits = [];
      for (const width of widths) visits.push(await visit(browser, `${page}${path}`, width));
      measured.push({ view, bytes: visits[0]?.bytes ?? 0, shifts: visits.map(({ shift }) => shift) });
    }
    return measured;
  } finally {
    await browser.close();
  }
}

async function visit(browser: Browser, address: string, width: number): Promise<{ bytes: number; shift: number }> {
  const context = await browser.newContext({ viewport: { width, height: 800 } });
  try {
    const page = await context.newPage();
    await page.addInitScript(
      `window.shifted = 0;
       new PerformanceObserver((list) => {
         for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
       }).observe({ type: 'layout-shift', buffered: true });`,
    );
    await page.goto(address);
    await page.locator('main h1, main h2').first().waitFor();
    // The stream is never idle; everything else of a view is there soon.
    await page.waitForTimeout(3000);
    const shift = Number(await page.evaluate('window.shifted'));
    const bytes = Number(
      await page.evaluate(
        `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
           .reduce((total, { transferSize }) => total + transferSize, 0)`,
      ),
    );
    return { bytes, shift };
  } finally {
    await context.close();
  }
}

export function pageText(measured: readonly MeasuredPage[] | string): string {
  const title = `the page in a browser, each view on a first visit; layout shift at ${widths.join(', ')} pixels`;
  if (typeof measured === 'string') return `${title}: ${measured}`;
  return [
    title,
    table(
      [
        { title: '', value: (row: MeasuredPage) => row.view },
        { title: 'compressed kB', value: (row) => figure(Math.round(row.bytes / 1000)), right: true },
        ...widths.map((width, place) => ({
          title: `${width} px`,
          value: (row: MeasuredPage) => (row.shifts[place] ?? 0).toFixed(3),
          right: true,
        })),
      ],
      measured,
    ),
  ].join('\n');
}

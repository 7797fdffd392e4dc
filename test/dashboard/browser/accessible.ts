import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Fails for every rule of axe-core that the page breaks, its best practices included. */
export async function expectAccessible(page: Page, view: string): Promise<void> {
  // By the debugger: the page's own policy lets no script in.
  await page.evaluate(axe);
  const violations = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as Violation[];
  const told = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
  expect(told, view).toEqual([]);
}

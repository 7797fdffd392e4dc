/** Parts of the page as text, rendered in this process: their words, states and links need no browser. */

import { type ComponentType, h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { vi } from 'vitest';
import { Model } from '../../../dashboard/page/state/model.ts';
import { ModelContext } from '../../../dashboard/page/state/use-model.ts';
import type { SeriesLine, Summary } from '../../../dashboard/shapes.ts';
import { quietSummary } from '../lines.ts';

export interface Around {
  /** Query of the address. */
  readonly search?: string;
  readonly isNarrow?: boolean;
  readonly model?: Model;
}

/** The page after its first event. */
export function modelOf(series: readonly SeriesLine[] = [], summary: Partial<Summary> = {}): Model {
  const model = new Model();
  model.takeSnapshot({ series, summary: { ...quietSummary, ...summary } });
  return model;
}

/** The HTML of a part of the page, as it is first drawn. */
export function htmlOf<Props extends object>(
  part: ComponentType<Props>,
  props: NoInfer<Props>,
  { search = '', isNarrow = false, model = modelOf() }: Around = {},
): string {
  // What the page asks of its browser while it is drawn.
  vi.stubGlobal('location', { search });
  vi.stubGlobal('navigator', { clipboard: {} });
  vi.stubGlobal('matchMedia', (query: string) => ({ matches: query.startsWith('(max-width') === isNarrow }));
  try {
    return renderToString(h(ModelContext.Provider, { value: model, children: h(part, props) }));
  } finally {
    vi.unstubAllGlobals();
  }
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

/** The text of HTML: a line for each row and paragraph, and ` |` after each cell. */
export function textOf(html: string): string {
  return html
    .replace(/<\/(?:p|tr|li|h\d|caption|summary|dd|button|option)>/g, '\n')
    .replace(/<\/(?:td|th|dt)>/g, ' | ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(lt|gt|quot|amp);/g, (_, name: string) => entities[name] ?? '')
    .replace(/ {2,}/g, ' ')
    .replace(/ $/gm, '')
    .trim();
}

/** `textOf` the part, by lines. */
export const linesOf = <Props extends object>(
  part: ComponentType<Props>,
  props: NoInfer<Props>,
  around: Around = {},
): string[] => textOf(htmlOf(part, props, around)).split('\n');

/** The address of each link by its text. */
export function linksIn(html: string): Record<string, string> {
  return Object.fromEntries(
    [...html.matchAll(/<a [^>]*?href="([^"]*)"[^>]*>(.*?)<\/a>/g)].map(([, href = '', text = '']) => [
      textOf(text),
      textOf(href),
    ]),
  );
}

/** The view in the page's URL, so that a reload, the back button and a bookmark show the same view. */

import { element } from './element.ts';

export type ViewName = 'overview' | 'problems' | 'series';

export interface Address {
  readonly view: ViewName;
  readonly seriesId: number;
  readonly find: string;
  /** Name of a filter of the list; empty: none. */
  readonly filter: string;
  readonly sort: string;
  readonly axis: string;
  readonly page: number;
  /** Of the chart of a series: `log`, and how much of the newest it shows; empty: the usual. */
  readonly scale: string;
  readonly span: string;
}

export function readAddress(search: string): Address {
  const given = new URLSearchParams(search);
  const seriesId = Number(given.get('series') ?? 0);
  const isSeries = Number.isSafeInteger(seriesId) && seriesId > 0;
  return {
    view: isSeries ? 'series' : given.get('view') === 'problems' ? 'problems' : 'overview',
    seriesId: isSeries ? seriesId : 0,
    find: given.get('find') ?? '',
    filter: given.get('filter') ?? '',
    sort: given.get('sort') ?? 'missing',
    axis: given.get('axis') ?? 'own',
    scale: given.get('scale') ?? '',
    span: given.get('span') ?? '',
    page: Math.max(1, Math.floor(Number(given.get('page') ?? 1)) || 1),
  };
}

/** A relative URL, because a proxy may serve the page in a folder. */
export function hrefOf(address: Partial<Address>): string {
  const search = new URLSearchParams();
  if (address.view === 'problems') search.set('view', 'problems');
  if (address.view === 'series') search.set('series', String(address.seriesId));
  if (address.find) search.set('find', address.find);
  if (address.filter) search.set('filter', address.filter);
  if (address.sort && address.sort !== 'missing') search.set('sort', address.sort);
  if (address.axis && address.axis !== 'own') search.set('axis', address.axis);
  if (address.page !== undefined && address.page > 1) search.set('page', String(address.page));
  if (address.scale) search.set('scale', address.scale);
  if (address.span) search.set('span', address.span);
  const text = search.toString();
  return text === '' ? './' : `./?${text}`;
}

export function seriesLink(seriesId: number, name: string): HTMLElement {
  return element('a', { href: hrefOf({ view: 'series', seriesId }) }, name);
}

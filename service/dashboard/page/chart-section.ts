/** The chart with its exact values, buttons, keyboard control and table. */

import { dayMs, type Interval, intervalMs, minuteMs } from '../../../contract/intervals.ts';
import type { PointRow, SeriesDetail } from '../shapes.ts';
import { type Address, hrefOf, readAddress } from './address.ts';
import { element, fill, section, setText, table } from './element.ts';
import { formatTime } from './format.ts';
import { type Pointed, PriceChart } from './price-chart.ts';

const spans: readonly (readonly [string, number])[] = [
  ['1 day', dayMs],
  ['1 week', 7 * dayMs],
  ['1 month', 30 * dayMs],
  ['1 year', 365 * dayMs],
  ['All', Number.POSITIVE_INFINITY],
];
const candleNames = ['open', 'high', 'low', 'close', 'volume'];
/** Largest number of rows in the table. */
const maxRows = 200;

export function chartSection(detail: SeriesDetail, nowMs: () => number) {
  const exact = element('output', { class: 'exact', 'aria-live': 'polite' });
  const told = element('p', { class: 'told', role: 'status' });
  const canvas = element('div', { class: 'chart', 'aria-hidden': 'true' });
  const group = element(
    'div',
    {
      class: 'chart-frame',
      tabindex: 0,
      role: 'group',
      'aria-label': 'Chart',
      'aria-describedby': 'chart-keys',
    },
    canvas,
  );
  const values = element('details', {}, element('summary', {}, 'The values on screen as a table'));
  const address = { view: 'series', seriesId: detail.id, ...pick(readAddress(location.search)) } as const;
  let options: { scale: string; span: string } = address;
  const keep = (changes: Partial<typeof options>) => {
    options = { ...options, ...changes };
    history.replaceState(null, '', hrefOf({ ...address, ...options }));
  };
  const buttons = spans.map(([title, spanMs]) => {
    const button = element('button', { type: 'button', 'aria-pressed': 'false' }, title);
    button.addEventListener('click', () => {
      keep({ span: title });
      showSpan(spanMs);
    });
    return { button, title, spanMs };
  });
  /** Length of the screen as a button made it. */
  let spanShownMs: number | null = null;
  function showSpan(spanMs: number): void {
    chart.showLast(spanMs);
    spanShownMs = chart.lastMs;
    showPressed();
  }
  function showPressed(): void {
    const isAsMade = spanShownMs !== null && chart.lastMs === spanShownMs;
    for (const { button, title } of buttons)
      button.setAttribute('aria-pressed', String(isAsMade && options.span === title));
  }
  const logarithmic = element('button', { type: 'button', 'aria-pressed': 'false' }, 'Log scale');
  const showScale = () => {
    logarithmic.setAttribute('aria-pressed', String(options.scale === 'log'));
    chart.setLogarithmic(options.scale === 'log');
  };
  logarithmic.addEventListener('click', () => {
    keep({ scale: options.scale === 'log' ? '' : 'log' });
    showScale();
  });
  const whole = element('button', { type: 'button', hidden: !document.fullscreenEnabled }, 'Full screen');
  whole.addEventListener('click', () => {
    void (document.fullscreenElement === null ? group.requestFullscreen() : document.exitFullscreen()).catch(
      () => {},
    );
  });
  const newest = element('p', { class: 'newest' });
  const block = section(
    'chart',
    detail.dataset === 'candles' ? 'Candles' : 'Prices',
    element(
      'div',
      { class: 'controls', role: 'group', 'aria-label': 'What the chart shows' },
      ...buttons.map(({ button }) => button),
      logarithmic,
      whole,
    ),
    newest,
    exact,
    group,
    told,
    element(
      'p',
      { id: 'chart-keys', class: 'keys' },
      'Keys: left and right move through time, with Shift from value to value; plus and minus change the span; Home and End go to the first and the last value.',
    ),
    values,
  );

  const chart = new PriceChart(canvas, detail, {
    nowMs,
    onPoint: (pointed) => setText(exact, pointedText(pointed)),
    onLoad: (text, isTrouble) => {
      setText(told, text);
      told.classList.toggle('bad', isTrouble);
    },
    onView: () => {
      const view = chart.view();
      if (view === null) return;
      showPressed();
      const row = chart.newest;
      setText(
        newest,
        row === null ? '' : `Newest, UTC: ${rowText(row)}${isOpen(row) ? ', still forming' : ''}`,
      );
      group.setAttribute(
        'aria-label',
        `Chart from ${formatTime(minute(view.startMs))} to ${formatTime(minute(view.endMs))}, ${view.rows.length} values of ${view.interval}, ${view.gaps} gaps`,
      );
      if (values.open) fillValues();
    },
  });

  /** Whether the period of the newest value has not ended. */
  function isOpen([timeMs]: PointRow): boolean {
    const lengthMs = intervalMs[(chart.view()?.interval ?? detail.interval) as Interval];
    return detail.dataset === 'candles' && timeMs + lengthMs > nowMs();
  }

  function fillValues(): void {
    const view = chart.view();
    if (view === null) return;
    const [summary] = values.children;
    const rows = view.rows.slice(-maxRows).reverse();
    const names = view.kind === 'candles' ? candleNames : ['price'];
    const caption =
      rows.length < view.rows.length
        ? `The newest ${rows.length} of ${view.rows.length} on screen`
        : 'On screen, newest first';
    fill(
      values,
      summary ?? null,
      table(
        caption,
        ['Time', ...names],
        rows.map(([timeMs, ...texts]) => [formatTime(timeMs), ...texts]),
      ),
    );
  }
  values.addEventListener('toggle', () => values.open && fillValues());

  group.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act =
      actions(chart)[event.shiftKey && event.key.startsWith('Arrow') ? `Shift+${event.key}` : event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });

  return {
    section: block,
    /** Call this once the section is in the document and has a width. */
    begin: () => {
      chart.begin();
      showScale();
      const span = spans.find(([title]) => title === options.span);
      if (span !== undefined) showSpan(span[1]);
    },
    refresh: (newer: SeriesDetail) => chart.refresh(newer),
    follow: () => chart.follow(),
    end: () => chart.end(),
  };
}

function actions(chart: PriceChart): Readonly<Record<string, () => void>> {
  return {
    ArrowLeft: () => chart.pan(-0.2),
    ArrowRight: () => chart.pan(0.2),
    'Shift+ArrowLeft': () => chart.step(-1),
    'Shift+ArrowRight': () => chart.step(1),
    '+': () => chart.zoom(0.5),
    '=': () => chart.zoom(0.5),
    '-': () => chart.zoom(2),
    Home: () => chart.goTo('first'),
    End: () => chart.goTo('last'),
  };
}

/** The exact stored values. */
function pointedText(pointed: Pointed | null): string {
  if (pointed === null) return '';
  const { timeMs, row, state } = pointed;
  return row === null ? `${formatTime(timeMs)}: no value, ${state}` : rowText(row);
}

function rowText([timeMs, ...texts]: PointRow): string {
  const named = candleNames.map((name, place) => `${name} ${texts[place] ?? ''}`);
  return `${formatTime(timeMs)}: ${texts.length === 1 ? texts[0] : named.join(' · ')}`;
}

function pick({ scale, span }: Address): { scale: string; span: string } {
  return {
    scale: scale === 'log' ? scale : '',
    span: spans.some(([title]) => title === span) ? span : '',
  };
}

function minute(timeMs: number): number {
  return Math.round(timeMs / minuteMs) * minuteMs;
}

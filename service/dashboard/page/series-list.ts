/** The list of series with their bands: filtered by name, sorted, paged. Only visible bands are requested. */

import { minuteMs } from '../../../contract/intervals.ts';
import type { SeriesLine } from '../shapes.ts';
import { hrefOf, readAddress } from './address.ts';
import { bandColumns, drawBand, legend } from './band.ts';
import { element, fill, section, setText, tableAround } from './element.ts';
import { formatAge, formatCount, formatTime } from './format.ts';
import type { Model } from './model.ts';
import { axes, choice, compare, fillRow, filters, makeRow, type Row, sorts } from './series-rows.ts';
import { fetchBands } from './server.ts';

const perPage = 50;

export function seriesList(model: Model) {
  const from = readAddress(location.search);
  const state = {
    find: from.find,
    filter: Object.hasOwn(filters, from.filter) ? from.filter : '',
    sort: Object.hasOwn(sorts, from.sort) ? from.sort : 'missing',
    axis: Object.hasOwn(axes, from.axis) ? from.axis : 'own',
    page: from.page,
  };
  const rows = new Map<number, Row>();
  const find = element('input', {
    type: 'search',
    id: 'find',
    value: state.find,
    autocomplete: 'off',
    spellcheck: false,
  });
  const sort = choice('sort', sorts, state.sort);
  const axis = choice('axis', axes, state.axis);
  const chips = Object.keys(filters).map((name) => {
    const count = element('span');
    const chip = element('button', { type: 'button', class: 'chip' }, filters[name]?.[0] ?? name, ' ', count);
    chip.addEventListener('click', () => change({ filter: state.filter === name ? '' : name, page: 1 }));
    return { name, chip, count };
  });
  const shown = element('p', { role: 'status' });
  const axisText = element('span');
  const back = element('button', { type: 'button' }, 'Previous');
  const next = element('button', { type: 'button' }, 'Next');
  const titles = ['Series', 'Coverage', 'Covered', 'Missing', 'Behind', 'Newest', 'Note'];
  const body = element('tbody', { role: 'rowgroup' });
  const list = tableAround(body, titles, 'Coverage: ', axisText);
  list.classList.add('series');
  const block = section(
    'series',
    'Series',
    element(
      'div',
      { class: 'controls', role: 'search' },
      element('label', { for: 'find' }, 'Find'),
      find,
      element('label', { for: 'sort' }, 'Sort'),
      sort,
      element('label', { for: 'axis' }, 'Time'),
      axis,
    ),
    element(
      'div',
      { class: 'controls chips', role: 'group', 'aria-label': 'Show only' },
      ...chips.map(({ chip }) => chip),
    ),
    legend(),
    list,
    element('nav', { class: 'pages', 'aria-label': 'Pages of series' }, back, shown, next),
  );

  function chosen(): SeriesLine[] {
    const words = state.find
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const order = sorts[state.sort]?.[1] ?? (() => 0);
    return [...model.series.values()]
      .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
      .filter(filters[state.filter]?.[1] ?? (() => true))
      .sort((one, other) => order(one, other) || compare(one.name, other.name));
  }

  function update(): void {
    const lines = chosen();
    for (const { name, chip, count } of chips) {
      const shows = filters[name]?.[1] ?? (() => false);
      setText(count, formatCount([...model.series.values()].filter(shows).length));
      chip.setAttribute('aria-pressed', String(state.filter === name));
    }
    const pages = Math.max(1, Math.ceil(lines.length / perPage));
    state.page = Math.min(state.page, pages);
    const first = (state.page - 1) * perPage;
    const visible = lines.slice(first, first + perPage);
    const wanted = visible.map((line) => shownRow(line).tr);
    // Unchanged rows are not moved, so that the focus and reading position stay.
    if (wanted.length !== body.children.length || wanted.some((tr, place) => body.children[place] !== tr)) {
      const focused = document.activeElement;
      fill(body, ...wanted);
      if (focused instanceof HTMLElement && body.contains(focused)) focused.focus();
    }
    const ids = new Set(visible.map(({ id }) => id));
    for (const id of rows.keys()) if (!ids.has(id)) rows.delete(id);
    setText(
      shown,
      lines.length === 0
        ? noneText()
        : `${formatCount(first + 1)} to ${formatCount(first + visible.length)} of ${formatCount(lines.length)} series`,
    );
    back.disabled = state.page === 1;
    next.disabled = state.page === pages;
    list.hidden = lines.length === 0;
    void drawBands(visible);
  }

  const noneText = () => {
    if (model.series.size === 0) return 'No series is tracked.';
    return state.filter === '' ? 'No series has such a name.' : 'No such series.';
  };

  function shownRow(line: SeriesLine): Row {
    const row = rows.get(line.id) ?? makeRow(line);
    rows.set(line.id, row);
    fillRow(row, line, model.nowMs());
    return row;
  }

  function range(): { startMs: number; endMs: number } | null {
    const [, spanMs] = axes[state.axis] ?? ['', null];
    if (spanMs === null) return null;
    // In whole minutes, between which the drawing does not change.
    const endMs = Math.ceil(model.nowMs() / minuteMs) * minuteMs;
    const earliestMs = Math.min(endMs - minuteMs, ...[...model.series.values()].map(({ fromMs }) => fromMs));
    return { startMs: Number.isFinite(spanMs) ? endMs - spanMs : earliestMs, endMs };
  }

  let isAsking = false;
  async function drawBands(visible: readonly SeriesLine[]): Promise<void> {
    const within = range();
    setText(
      axisText,
      within === null
        ? 'each from its beginning to now'
        : `${formatTime(within.startMs)} to ${formatTime(within.endMs)}`,
    );
    const stateOf = (line: SeriesLine) =>
      [state.axis, within?.endMs, line.version, line.missingMs, line.failedMs, line.inFlight].join(' ');
    const stale = visible.filter((line) => rows.get(line.id)?.drawn !== stateOf(line));
    if (stale.length === 0 || isAsking) return;
    isAsking = true;
    const asked = new Map(stale.map((line) => [line.id, stateOf(line)]));
    try {
      for (const band of await fetchBands([...asked.keys()], bandColumns, within)) {
        const row = rows.get(band.id);
        if (row === undefined) continue;
        drawBand(row.band, band);
        row.drawn = asked.get(band.id) ?? '';
      }
      isAsking = false;
      // The user may have turned the page meanwhile.
      if (chosen().some(({ id }) => rows.get(id)?.drawn === '')) update();
    } catch {
      // The next event retries; the header shows that the page is not connected.
      isAsking = false;
    }
  }

  function change(changes: Partial<typeof state>): void {
    Object.assign(state, changes);
    history.replaceState(null, '', hrefOf({ view: 'overview', ...state }));
    update();
  }
  find.addEventListener('input', () => change({ find: find.value, page: 1 }));
  sort.addEventListener('change', () => change({ sort: sort.value, page: 1 }));
  axis.addEventListener('change', () => {
    for (const row of rows.values()) row.drawn = '';
    change({ axis: axis.value });
  });
  const turn = (by: number) => {
    change({ page: state.page + by });
    block.scrollIntoView({ block: 'start' });
  };
  back.addEventListener('click', () => turn(-1));
  next.addEventListener('click', () => turn(1));
  // Ages grow without events.
  const clock = setInterval(() => {
    for (const [id, row] of rows) {
      const line = model.series.get(id);
      if (line?.newestMs != null)
        setText(row.cells.newest, `${formatAge(model.nowMs() - line.newestMs)} ago`);
    }
  }, 1000);
  return { section: block, update, end: () => clearInterval(clock) };
}

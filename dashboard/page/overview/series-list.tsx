/** The list of series with their bands: filtered, sorted, paged. Only visible bands are requested. */

import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../../clock.ts';
import { minuteMs, type Range } from '../../../model/intervals.ts';
import type { Band, SeriesLine } from '../../shapes.ts';
import { seriesAction } from '../parts/actions.tsx';
import { Legend } from '../parts/band.tsx';
import { Copyable } from '../parts/copyable.tsx';
import { formatCount, formatTime } from '../parts/format.ts';
import { bandColumns } from '../parts/layers.ts';
import { PricedActions } from '../parts/priced-actions.tsx';
import { isNarrow, Section, TableAround } from '../parts/table.tsx';
import { type Address, hrefOf, readAddress } from '../state/address.ts';
import type { Model } from '../state/model.ts';
import { choose } from '../state/navigation.ts';
import { fetchBands } from '../state/server.ts';
import { useClock, useModel } from '../state/use-model.ts';
import { exchangeOf } from './groups.ts';
import { axes, compare, filters, SeriesRow, sorts, titles } from './series-rows.tsx';

type Choice = Pick<Address, 'find' | 'filter' | 'exchange' | 'interval' | 'sort' | 'axis' | 'page'>;

function readChoice(): Choice {
  const { find, filter, exchange, interval, sort, axis, page } = readAddress(location.search);
  return {
    find,
    exchange,
    interval,
    page,
    filter: Object.hasOwn(filters, filter) ? filter : '',
    sort: Object.hasOwn(sorts, sort) ? sort : 'missing',
    axis: Object.hasOwn(axes, axis) ? axis : 'own',
  };
}

/** @param visit changes when the address may have another choice. */
export function SeriesList({ visit = 0 }: { visit?: number }) {
  const model = useModel();
  const [choice, setChoice] = useState(readChoice);
  useLayoutEffect(() => setChoice(readChoice()), [visit]);
  const top = useRef<HTMLDivElement>(null);
  useClock(1000);
  // Fewer where each takes several lines.
  const perPage = isNarrow() ? 20 : 50;
  const lines = useOrdered(model, choice.sort).filter(shows(choice));
  const pages = Math.max(1, Math.ceil(lines.length / perPage));
  const page = Math.min(choice.page, pages);
  const first = (page - 1) * perPage;
  const visible = lines.slice(first, first + perPage);
  const within = rangeOf(model, choice.axis);
  const bands = useBands(model, visible, choice.axis, within);
  const change = (changes: Partial<Choice>) => {
    const changed = { ...choice, page: 1, ...changes };
    // A name is typed letter by letter.
    choose(
      hrefOf({ ...changed, minute: readAddress(location.search).minute }),
      changes.find === undefined ? null : 'find',
    );
    setChoice(changed);
  };
  const turn = (by: number) => {
    change({ page: page + by });
    top.current?.scrollIntoView({ block: 'start' });
  };
  const all = [...model.series.values()];
  return (
    <Section id="series" title="Series">
      <div class="controls" role="search" ref={top}>
        <span class="field">
          <label for="find">Find</label>
          <input
            type="search"
            id="find"
            value={choice.find}
            autocomplete="off"
            spellcheck={false}
            onInput={({ currentTarget }) => change({ find: currentTarget.value })}
          />
        </span>
        <span class="field">
          <label for="sort">Sort</label>
          <Select id="sort" options={sorts} value={choice.sort} onChange={(sort) => change({ sort })} />
        </span>
        <span class="field">
          <label for="axis">Time</label>
          <Select id="axis" options={axes} value={choice.axis} onChange={(axis) => change({ axis, page })} />
        </span>
      </div>
      <div class="controls chips" role="group" aria-label="Show only">
        {Object.entries(filters).map(([name, [title, shows]]) => (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={choice.filter === name}
            onClick={() => change({ filter: choice.filter === name ? '' : name })}
          >
            {title} <span>{formatCount(all.filter(shows).length)}</span>
          </button>
        ))}
        {(['exchange', 'interval'] as const).map(
          (name) =>
            choice[name] !== '' && (
              <button key={name} type="button" class="chip" aria-pressed="true" onClick={() => change({ [name]: '' })}>
                {`${name} ${choice[name]}`}
              </button>
            ),
        )}
      </div>
      <Legend />
      <ManyActions lines={lines} />
      <TableAround
        class="series"
        hidden={lines.length === 0}
        titles={titles}
        caption={`Coverage: ${
          within === null
            ? 'each from its beginning to now'
            : `${formatTime(within.startMs)} to ${formatTime(within.endMs)}`
        }`}
      >
        {visible.map((line) => (
          <SeriesRow key={line.id} line={line} band={bands.get(line.id) ?? null} nowMs={model.nowMs()} />
        ))}
      </TableAround>
      <nav class="pages" aria-label="Pages of series">
        <button type="button" disabled={page === 1} onClick={() => turn(-1)}>
          Previous
        </button>
        <p role="status">
          {lines.length === 0
            ? noneText(model, choice)
            : `${formatCount(first + 1)} to ${formatCount(first + visible.length)} of ` +
              `${formatCount(lines.length)} series`}
        </p>
        <button type="button" disabled={page === pages} onClick={() => turn(1)}>
          Next
        </button>
      </nav>
    </Section>
  );
}

/** As the service takes them in one request. */
const maxActedOn = 1000;

/** Actions on all series that the list shows, on each of its pages; none where it shows none. */
function ManyActions({ lines }: { lines: readonly SeriesLine[] }) {
  const [isOpen, setOpen] = useState(false);
  const ids = lines.map(({ id }) => String(id)).sort();
  const many = lines.length === 1 ? 'this series' : `these ${formatCount(lines.length)} series`;
  const actions = [
    seriesAction('Retry', 'retry', ids),
    seriesAction('Verify a sample', 'verify', ids),
    seriesAction('Repair differences', 'repair', ids),
    { ...seriesAction('Untrack', 'untrack', ids), confirm: `Untrack ${many}? Stored points stay.` },
  ];
  const isNone = lines.length === 0;
  // The result of an action that took the last series out of the list stays.
  if (isNone && !isOpen) return null;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{isNone ? 'No series to act on' : `Act on ${many}`}</summary>
      {isOpen && lines.length <= maxActedOn && (
        <PricedActions label="Actions on the series shown" actions={isNone ? [] : actions} />
      )}
      {isOpen && lines.length > maxActedOn && (
        <p>{`At most ${formatCount(maxActedOn)} at a time: show fewer of them, or use a pattern at a terminal:`}</p>
      )}
      {isOpen && lines.length > maxActedOn && <Copyable command="npx tidemark retry 'kraken *'" />}
    </details>
  );
}

function Select({
  id,
  options,
  value,
  onChange,
}: {
  id: string;
  options: Readonly<Record<string, readonly [title: string, ...rest: unknown[]]>>;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {Object.entries(options).map(([name, [title]]) => (
        <option key={name} value={name}>
          {title}
        </option>
      ))}
    </select>
  );
}

/** All series in their order, which stays for a minute, so that rows do not move under the pointer. */
function useOrdered({ series }: Model, sort: string): SeriesLine[] {
  const ids = useMemo(() => {
    const order = sorts[sort]?.[1] ?? (() => 0);
    return [...series.values()]
      .sort((one, other) => order(one, other) || compare(one.name, other.name))
      .map(({ id }) => id);
  }, [sort, series.size, Math.floor(systemClock.now() / minuteMs)]);
  return ids.flatMap((id) => series.get(id) ?? []);
}

function shows({ find, filter, exchange, interval }: Choice): (line: SeriesLine) => boolean {
  const words = find
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const passes = filters[filter]?.[1] ?? (() => true);
  return (line) =>
    words.every((word) => line.name.toLowerCase().includes(word)) &&
    passes(line) &&
    (exchange === '' || exchangeOf(line) === exchange) &&
    (interval === '' || line.interval === interval);
}

function noneText({ series }: Model, { filter }: Choice): string {
  if (series.size === 0) return 'No series is tracked.';
  return filter === '' ? 'No series has such a name.' : 'No such series.';
}

/** Null: each series has a range of its own. */
function rangeOf(model: Model, axis: string): Range | null {
  const [, spanMs] = axes[axis] ?? ['', null];
  if (spanMs === null) return null;
  // In whole minutes, between which the drawing does not change.
  const endMs = Math.ceil(model.nowMs() / minuteMs) * minuteMs;
  const earliestMs = [...model.series.values()].reduce(
    (least, { fromMs }) => Math.min(least, fromMs),
    endMs - minuteMs,
  );
  return { startMs: Number.isFinite(spanMs) ? endMs - spanMs : earliestMs, endMs };
}

/** The bands of the visible series. An old one is shown until its new one is there; of another axis none is. */
function useBands(
  model: Model,
  visible: readonly SeriesLine[],
  axis: string,
  within: Range | null,
): ReadonlyMap<number, Band> {
  const held = useRef(new Map<number, { readonly state: string; readonly axis: string; readonly band: Band }>());
  const isAsking = useRef(false);
  const [, drawAgain] = useReducer((count: number) => count + 1, 0);
  const stateOf = (line: SeriesLine) =>
    [axis, within?.endMs, line.version, line.missingMs, line.failedMs, line.queued, line.active].join(' ');
  useEffect(() => {
    const stale = visible.filter((line) => held.current.get(line.id)?.state !== stateOf(line));
    if (stale.length === 0 || isAsking.current || model.isAway) return;
    isAsking.current = true;
    const states = new Map(stale.map((line) => [line.id, stateOf(line)]));
    fetchBands([...states.keys()], bandColumns, within).then(
      (bands) => {
        const ids = new Set(visible.map(({ id }) => id));
        for (const id of held.current.keys()) if (!ids.has(id)) held.current.delete(id);
        for (const band of bands) held.current.set(band.id, { axis, band, state: states.get(band.id) ?? '' });
        isAsking.current = false;
        // The user may have turned the page meanwhile.
        drawAgain(0);
      },
      // The next event or second tries again; the header shows that the page is not connected.
      () => {
        isAsking.current = false;
      },
    );
  });
  return new Map([...held.current].flatMap(([id, one]) => (one.axis === axis ? [[id, one.band]] : [])));
}

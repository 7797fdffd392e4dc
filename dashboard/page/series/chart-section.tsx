/** The chart with its options, exact values, keyboard control and table. The options are in the address. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { systemClock, type Timer } from '../../../clock.ts';
import { datasets, datasetText } from '../../../model/datasets/index.ts';
import { dayMs, type Interval, intervalMs, type Range } from '../../../model/intervals.ts';
import { chartIntervals } from '../../chart-intervals.ts';
import type { ChartPane, PointRow, SeriesDetail, SeriesLine } from '../../shapes.ts';
import { formatDuration, formatTime, nearestMinute } from '../parts/format.ts';
import { layerNames } from '../parts/layers.ts';
import { MarkList, marksOf } from '../parts/marks.tsx';
import { SeriesLink } from '../parts/series-link.tsx';
import { FoldedWhenNarrow, isNarrow, Section, Table } from '../parts/table.tsx';
import { type Address, hrefOf, readAddress } from '../state/address.ts';
import { choose } from '../state/navigation.ts';
import { fetchRange, fetchTimeline } from '../state/server.ts';
import { useDelayed, useLoaded, useModel } from '../state/use-model.ts';
import type { Change } from './bars.ts';
import type { BesideValue } from './chart-panes.ts';
import { proofText } from './chosen-range.tsx';
import { ComparedLegend, CompareField } from './compare.tsx';
import { type Chosen, type Pointed, PriceChart } from './price-chart.ts';
import { timeIn, wholeDays, type Zone, zoneName, zoneNamed, zones, zoneTitle } from './zone.ts';

const spans: readonly (readonly [string, number])[] = [
  ['1 day', dayMs],
  ['1 week', 7 * dayMs],
  ['1 month', 30 * dayMs],
  ['1 year', 365 * dayMs],
  ['All', Number.POSITIVE_INFINITY],
];
/** Largest number of rows in the table. */
const maxRows = 200;

type Options = Pick<Address, 'scale' | 'span' | 'bars' | 'zone' | 'compare' | 'range'>;

function readOptions({ id, interval: own }: SeriesDetail): Options {
  const { scale, span, bars, zone, compare, range } = readAddress(location.search);
  return {
    compare: compare === id ? 0 : compare,
    range,
    scale: scale === 'log' ? scale : '',
    span: spans.some(([title]) => title === span) ? span : '',
    bars: chartIntervals(own as Interval).includes(bars as Interval) ? bars : '',
    zone: zoneNamed(zone) === 'utc' ? '' : (zoneNamed(zone) ?? ''),
  };
}

function chosenIn({ scale, span, bars, range }: Options): Chosen {
  const [, spanMs = null] = spans.find(([title]) => title === span) ?? [];
  return { ...{ range, spanMs, isLogarithmic: scale === 'log', interval: bars === '' ? null : (bars as Interval) } };
}

/** @param visit changes when the address may have other options. */
export function ChartSection({
  detail,
  line,
  visit,
  chosen,
  onChoose,
  onZone,
}: {
  detail: SeriesDetail;
  line: SeriesLine | undefined;
  visit: number;
  /** The range to act on; null: none. */
  chosen: Range | null;
  onChoose: (range: Range) => void;
  /** Is told the zone of the times, also at first. */
  onZone: (zone: Zone) => void;
}) {
  const model = useModel();
  const [options, setOptions] = useState(() => readOptions(detail));
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [told, setTold] = useState({ text: '', isTrouble: false });
  /** Counts the movements of the screen: what is read from the chart is read again. */
  const [, setMoves] = useState(0);
  const [isTableOpen, setTableOpen] = useState(false);
  /** The range that a drag has passed so far. */
  const [dragged, setDragged] = useState<Range | null>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const held = useRef<Held>({ chart: null, options, spanMs: null, usualMs: null, visit, writing: undefined });
  const zone: Zone = options.zone || 'utc';
  useLayoutEffect(() => onZone(zone), [zone]);

  useEffect(() => {
    if (canvas.current === null) return;
    const chart = new PriceChart(canvas.current, detail, zone, {
      nowMs: () => model.nowMs(),
      onPoint: setPointed,
      onLoad: (text, isTrouble) => setTold({ text, isTrouble }),
      onChoose: (range, isEnded) => {
        if (isEnded) held.current.choose?.(range);
        else setDragged(range);
      },
      onView: () => {
        setMoves((count) => count + 1);
        held.current.keepRange?.();
      },
    });
    held.current.chart = chart;
    chart.begin();
    show(held.current.options);
    return () => {
      held.current.writing?.stop();
      held.current.chart = null;
      chart.end();
    };
    // The places on the axis are those of the zone.
  }, [zone]);

  const { chart } = held.current;
  useEffect(() => {
    // At first the chart shows them already.
    if (visit !== held.current.visit) show(readOptions(detail));
    held.current.visit = visit;
  }, [visit]);
  // The one of the last drawing: a new chart has it already.
  useEffect(() => chart?.refresh(detail), [detail]);
  const versions = detail.panes.map(({ id }) => model.series.get(id)?.version).join();
  useEffect(() => held.current.chart?.refreshPanes(), [versions]);
  const marked = dragged ?? chosen;
  useEffect(() => held.current.chart?.setChosen(marked), [marked, zone]);
  const piece = held.current.chart?.piece ?? null;
  const [timeline] = useLoaded(
    () => (piece === null ? Promise.resolve([]) : fetchTimeline(piece)),
    [piece?.startMs, piece?.endMs],
    piece !== null,
  );
  const marks = marksOf(timeline);
  useEffect(() => held.current.chart?.setMarks(marks), [marks, zone]);
  useEffect(() => model.onRetry(() => held.current.chart?.retry()), [model]);
  // A new period may have begun.
  useEffect(() => held.current.chart?.follow());
  const compared = useMemo(
    () => model.series.get(options.compare) ?? null,
    [options.compare, model.series.has(options.compare)],
  );
  useEffect(() => held.current.chart?.setCompared(compared), [compared, zone]);

  /** Shows what the address has. */
  function show(options: Options): void {
    const { chart, writing } = held.current;
    if (chart === null) return;
    writing?.stop();
    const isWhole = chart.show(chosenIn(options));
    const isUsual = options.range === null && options.span === '';
    held.current.options = options;
    held.current.spanMs = options.range === null && !isUsual && isWhole ? chart.lastMs : null;
    held.current.usualMs = isUsual ? chart.lastMs : null;
    chart.takeMove();
    setOptions(options);
  }
  /** @param put into the address. */
  function write(changes: Partial<Options>, put: (href: string) => void = choose): void {
    const changed = { ...held.current.options, ...changes };
    held.current.options = changed;
    put(hrefOf({ view: 'series', seriesId: detail.id, ...changed, chosen: readAddress(location.search).chosen }));
    setOptions(changed);
  }
  /** @returns false: a part of it, because the chosen interval has no room for more. */
  function showSpan(spanMs: number): boolean {
    const isWhole = held.current.chart?.showLast(spanMs) === true;
    held.current.spanMs = isWhole ? (held.current.chart?.lastMs ?? null) : null;
    return isWhole;
  }
  held.current.choose = (range) => {
    setDragged(null);
    onChoose(range);
  };
  /** Puts the range of the screen into the address, unless a button or nobody made it. */
  held.current.keepRange = () => {
    held.current.writing?.stop();
    held.current.writing = systemClock.after(300, () => {
      const view = held.current.chart?.view();
      if (view == null) return;
      const { lastMs } = held.current.chart ?? { lastMs: null };
      const isAsMade = lastMs !== null && [held.current.spanMs, held.current.usualMs].includes(lastMs);
      const isMoved = held.current.chart?.takeMove() === true;
      const range = isAsMade ? null : { startMs: nearestMinute(view.startMs), endMs: nearestMinute(view.endMs) };
      const { range: before } = held.current.options;
      if (range?.startMs === before?.startMs && range?.endMs === before?.endMs) return;
      // What moved by itself, such as with a new point, is nothing to go back to.
      const put = (href: string) => (isMoved ? choose(href, 'range') : history.replaceState(null, '', href));
      write(range === null ? { range } : { range, span: '' }, put);
    });
  };

  const view = chart?.view() ?? null;
  const lastMs = chart?.lastMs ?? null;
  const newest = chart?.newest ?? null;
  const isPressed = (title: string) => options.span === title && lastMs !== null && held.current.spanMs === lastMs;
  /** Whether the period of the newest value has not ended. */
  const isOpen = ([timeMs]: PointRow) =>
    datasets[detail.dataset].isOnGrid &&
    // A value of a moment forms in a longer period only.
    (view?.kind === 'candles' || view?.interval !== detail.interval) &&
    timeMs + intervalMs[(view?.interval ?? detail.interval) as Interval] > model.nowMs();

  /** On a narrow screen the chart is above its values. */
  const isBelow = isNarrow();
  const isUnknown = compared === null && options.compare !== 0 && model.summary !== null;
  const legend = (
    <div class={detail.panes.length > 0 ? 'values paned' : 'values'}>
      <p class="newest" hidden={pointed !== null}>
        {newest !== null && (
          <>
            {`Newest, ${rowText(newest, view?.names ?? [], zone)}`}
            <ChangeText of={chart?.changeOf(newest) ?? null} />
            {isOpen(newest) && ', still forming'}
          </>
        )}
      </p>
      <output class="exact" aria-live="polite">
        {pointed !== null && <PointedValues pointed={pointed} zone={zone} />}
        {pointed !== null && pointed.row === null && pointed.state === layerNames.empty && (
          <EmptyProof id={detail.id} startMs={pointed.timeMs} interval={view?.interval as Interval} zone={zone} />
        )}
      </output>
      {compared !== null && <ComparedLegend chart={chart} own={detail.name} name={compared.name} zone={zone} />}
      {isUnknown && <p class="compared bad">{`There is no series with the id ${options.compare}.`}</p>}
    </div>
  );
  return (
    <Section id="chart" title={datasetText(detail.dataset).replace(/^./, (first) => first.toUpperCase())}>
      <div class="chart-controls">
        <div class="controls" role="group" aria-label="What the chart shows">
          {spans.map(([title, spanMs]) => (
            <button
              key={title}
              type="button"
              aria-pressed={isPressed(title)}
              onClick={() => write({ span: showSpan(spanMs) ? title : '', range: null })}
            >
              {title}
            </button>
          ))}
        </div>
        <FoldedWhenNarrow title="Options of the chart">
          <div class="controls options" role="group" aria-label="Options of the chart">
            <span class="field">
              <label for="bars">Interval</label>
              <select
                id="bars"
                value={options.bars}
                onChange={({ currentTarget: { value } }) => {
                  write({ bars: value });
                  chart?.chooseInterval(value === '' ? null : (value as Interval));
                }}
              >
                <option value="">Auto</option>
                {chartIntervals(detail.interval as Interval).map((one) => (
                  <option key={one} value={one}>
                    {one === detail.interval ? one : `${one}, derived`}
                  </option>
                ))}
              </select>
            </span>
            <button
              type="button"
              aria-pressed={options.scale === 'log'}
              // Bars reach from zero, which has no place on such a scale.
              disabled={compared !== null || view?.kind === 'bars'}
              onClick={() => {
                const scale = options.scale === 'log' ? '' : 'log';
                write({ scale });
                chart?.setLogarithmic(scale === 'log');
              }}
            >
              Log scale
            </button>
            <ZoneField key={zone} zone={zone} onChoose={(chosen) => write({ zone: chosen === 'utc' ? '' : chosen })} />
            <button
              type="button"
              onClick={() => {
                const view = held.current.chart?.view();
                if (view != null) onChoose({ startMs: nearestMinute(view.startMs), endMs: nearestMinute(view.endMs) });
              }}
            >
              Choose this range
            </button>
            {chosen !== null && (
              <button type="button" onClick={() => onChoose(wholeDays(zone, chosen))}>
                {`Whole days of ${zoneTitle(zone)}`}
              </button>
            )}
            {document.fullscreenEnabled && (
              <button type="button" onClick={() => toggleFullScreen(frame.current)}>
                Full screen
              </button>
            )}
            <CompareField own={line} chosen={compared} onChoose={(compare) => write({ compare })} />
          </div>
        </FoldedWhenNarrow>
      </div>
      {detail.panes.length > 0 && (
        <p class="panes">
          Below the candles:{' '}
          {detail.panes.map((pane, place) => (
            <span key={pane.id}>
              {place > 0 && ', '}
              <SeriesLink id={pane.id} name={`${paneName(pane)} of ${pane.interval}`} />
            </span>
          ))}
        </p>
      )}
      <div
        ref={frame}
        class="chart-frame"
        tabIndex={0}
        role="group"
        aria-label={
          view === null
            ? 'Chart'
            : `Chart from ${formatTime(nearestMinute(view.startMs))} to ${formatTime(nearestMinute(view.endMs))}, ` +
              `${view.rows.length} values of ${view.interval}, ${view.gaps} gaps` +
              (detail.panes.length === 0 ? '' : `; below it ${detail.panes.map(paneName).join(', ')}`)
        }
        aria-describedby="chart-keys"
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || chart === null) return;
          const isArrow = event.shiftKey && event.key.startsWith('Arrow');
          const act = actions(chart)[isArrow ? `Shift+${event.key}` : event.key];
          if (act === undefined) return;
          event.preventDefault();
          act();
        }}
      >
        <div class={detail.panes.length > 0 ? 'chart paned' : 'chart'} ref={canvas} aria-hidden="true" />
        <span class="zone" aria-hidden="true">
          {zoneName(zone, view?.endMs ?? model.nowMs())}
          {zone !== 'utc' && intervalMs[(view?.interval ?? 'm1') as Interval] >= dayMs && '; periods are days of UTC'}
        </span>
        {!isBelow && legend}
      </div>
      {isBelow && legend}
      <p class={told.isTrouble ? 'told bad' : 'told'} role="status">
        {told.text}
      </p>
      <p class="measured" role="status">
        {marked !== null && measuredText(marked, chart, zone)}
      </p>
      <p id="chart-keys" class="keys">
        Keys: left and right move through time, with Shift from value to value; plus and minus change the span; Home and
        End go to the first and the last value. A drag with Shift measures a range and chooses it.
      </p>
      <MarkList
        timeText={(timeMs) => timeIn(zone, timeMs)}
        marks={marks.filter(
          ({ timeMs, untilMs }) => view !== null && timeMs < view.endMs && (untilMs ?? timeMs) >= view.startMs,
        )}
      />
      <details onToggle={({ currentTarget }) => setTableOpen(currentTarget.open)}>
        <summary>The values on screen as a table</summary>
        {isTableOpen && view !== null && (
          <div class="scrolled" tabIndex={0} role="group" aria-label="Values on screen">
            <ValueTable view={view} zone={zone} />
          </div>
        )}
      </details>
    </Section>
  );
}

/** A field of zones; what is none leaves the one that is. */
function ZoneField({ zone, onChoose }: { zone: Zone; onChoose: (zone: Zone) => void }) {
  return (
    <span class="field">
      <label for="zone">Zone</label>
      <input
        id="zone"
        list="zones"
        autocomplete="off"
        spellcheck={false}
        defaultValue={zoneTitle(zone)}
        onChange={({ currentTarget }) => {
          const named = zoneNamed(currentTarget.value);
          if (named === null || named === zone) currentTarget.value = zoneTitle(zone);
          else onChoose(named);
        }}
      />
      <datalist id="zones">
        {zones().map(({ name, text }) => (
          <option key={name} value={name} label={text === name ? undefined : text} />
        ))}
      </datalist>
    </span>
  );
}

/** `5 d from … to …: +3.21 %, lowest …, highest …`, of what is loaded of the range. */
function measuredText(range: Range, chart: PriceChart | null, zone: Zone): string {
  const { startMs, endMs } = range;
  const figures = chart?.measure(range) ?? '';
  const text = `${formatDuration(endMs - startMs)} from ${timeIn(zone, startMs)} to ${timeIn(zone, endMs)}`;
  return figures === '' ? text : `${text}: ${figures}`;
}

/** What is kept from one drawing of the section to the next, beside its state. */
interface Held {
  chart: PriceChart | null;
  options: Options;
  /** Length of the screen as a button made it, and as it was at first. */
  spanMs: number | null;
  usualMs: number | null;
  visit: number;
  writing: Timer | undefined;
  keepRange?: () => void;
  choose?: (range: Range) => void;
}

export function ValueTable({
  view: { rows, names, panes },
  zone,
}: {
  view: NonNullable<ReturnType<PriceChart['view']>>;
  zone: Zone;
}) {
  const newest = rows.slice(-maxRows).reverse();
  const caption =
    newest.length < rows.length ? `The newest ${newest.length} of ${rows.length} on screen` : 'On screen, newest first';
  return (
    <Table
      caption={caption}
      titles={['Time', ...names.map(nameText), ...panes.map((pane) => pane.name)]}
      rows={newest.map(([timeMs, ...texts]) => [
        timeIn(zone, timeMs),
        ...[...texts, ...panes.map((pane) => pane.rows.get(timeMs)?.[1] ?? null)].map((text) => text ?? ''),
      ])}
    />
  );
}

function toggleFullScreen(frame: HTMLElement | null): void {
  const done = document.fullscreenElement === null ? frame?.requestFullscreen() : document.exitFullscreen();
  // Refused: the page stays as it is.
  done?.catch(() => {});
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

const paneName = ({ dataset }: ChartPane) => datasetText(dataset);

/** The exact stored values. */
export function PointedValues({ pointed, zone }: { pointed: Pointed; zone: Zone }) {
  const { timeMs, row, change, names, state, beside } = pointed;
  return (
    <>
      {row === null ? `${timeIn(zone, timeMs)}: no value, ${state}` : rowText(row, names, zone)}
      <ChangeText of={change} />
      {beside.map((one) => `\n${besideText(one, zone)}`)}
    </>
  );
}

/** The answers that confirmed a period without a value, read once the pointer stays there. */
function EmptyProof({ id, startMs, interval, zone }: { id: number; startMs: number; interval: Interval; zone: Zone }) {
  const wantedMs = useDelayed(startMs, 300);
  const range = { startMs, endMs: startMs + intervalMs[interval] };
  const [loaded] = useLoaded(() => fetchRange(id, range), [wantedMs], wantedMs === startMs);
  const found = loaded.kind === 'loaded' && wantedMs === startMs ? loaded.value : null;
  const [silence] = found?.startMs === startMs ? found.confirmed : [];
  return silence === undefined ? null : <span>{`\n${proofText(silence, (timeMs) => timeIn(zone, timeMs))}`}</span>;
}

function ChangeText({ of }: { of: Change | null }) {
  return of === null ? null : (
    <>
      {' · '}
      <span class={of.isDown ? 'change down' : 'change'}>{of.text}</span>
    </>
  );
}

/** A value of a pane, with its time: it may be older than what is pointed at. */
function besideText({ name, row, names, state }: BesideValue, zone: Zone): string {
  return row === null ? `${name}: ${state}` : `${name}, ${rowText(row, names, zone)}`;
}

function rowText([timeMs, ...texts]: PointRow, names: readonly string[], zone: Zone): string {
  const named = texts.flatMap((text, place) => (text === null ? [] : [`${nameText(names[place] ?? '')} ${text}`]));
  return `${timeIn(zone, timeMs)}: ${texts.length === 1 ? texts[0] : named.join(' · ')}`;
}

function nameText(name: string): string {
  return name.replaceAll('_', ' ');
}

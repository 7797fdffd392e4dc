/** A coverage band, and its description in words. States differ by shape as well as by colour. */

import { useState } from 'preact/hooks';
import type { EpochMs, Range } from '../../../model/intervals.ts';
import { describeMissing, reasons } from '../../../model/reasons.ts';
import { type Layer, layers } from '../../layers.ts';
import type { Band, SeriesLine } from '../../shapes.ts';
import { hrefOf } from '../state/address.ts';
import { navigate } from '../state/navigation.ts';
import { counted, describeCoverage, formatCount, formatDuration, formatTime, nearestMinute } from './format.ts';
import { bandColumns, bandHeight, extents, layerNames } from './layers.ts';

/**
 * @param band null: not loaded yet.
 * @param label the text alternative.
 * @param reasonAt why a time is missing; null: not known, or not yet.
 * @param onMissing called when the pointer comes to something that is missing.
 */
export function BandView({
  band,
  label,
  reasonAt = () => null,
  onMissing = () => {},
}: {
  band: Band | null;
  label: string;
  reasonAt?: (timeMs: EpochMs) => string | null;
  onMissing?: () => void;
}) {
  const [pointed, setPointed] = useState<Segment | null>(null);
  /** Columns that a drag has passed, from the first to the last; null: no drag. */
  const [dragged, setDragged] = useState<readonly [number, number] | null>(null);
  const columnAt = (event: MouseEvent, { columns }: Band) => {
    const { left, width } = (event.currentTarget as SVGSVGElement).getBoundingClientRect();
    return Math.max(0, Math.min(columns - 1, Math.floor(((event.clientX - left) / width) * columns)));
  };
  const at = (event: MouseEvent) => (band === null ? null : segmentAt(band, columnAt(event, band)));
  const open = (event: PointerEvent) => {
    setDragged(null);
    if (band === null || dragged === null) return;
    const found = dragged[0] === dragged[1] ? at(event) : rangeOf(band, dragged);
    if (found === null) return;
    const range = { startMs: found.startMs, endMs: found.endMs };
    navigate(`${hrefOf({ view: 'series', seriesId: band.id, range, chosen: range })}#chosen`);
  };
  const point = (segment: Segment | null) => {
    setPointed(segment);
    if (isMissing(segment) && !isMissing(pointed)) onMissing();
  };
  const reason = isMissing(pointed) ? reasonAt(pointed.timeMs) : null;
  return (
    <span class="band-frame">
      {/* For a pointer only: the page of the series lists each gap, with a link to its range. */}
      <svg
        class="band"
        viewBox={`0 0 ${band?.columns ?? bandColumns} ${bandHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        onPointerDown={(event) => {
          if (band === null || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          const column = columnAt(event, band);
          setDragged([column, column]);
        }}
        onPointerMove={(event) => {
          point(at(event));
          if (band !== null && dragged !== null) setDragged([dragged[0], columnAt(event, band)]);
        }}
        onPointerLeave={() => setPointed(null)}
        onPointerCancel={() => setDragged(null)}
        onPointerUp={open}
      >
        {band !== null && layers.flatMap((layer) => rectsOf(band, layer))}
        {dragged !== null && dragged[0] !== dragged[1] && (
          <rect
            class="dragged"
            x={Math.min(...dragged)}
            y={0}
            width={Math.abs(dragged[1] - dragged[0]) + 1}
            height={bandHeight}
          />
        )}
      </svg>
      {pointed !== null && (
        <span class="tip" aria-hidden="true">
          {`${pointed.name}: ${formatTime(pointed.startMs)} to ` +
            `${formatTime(pointed.endMs)}${reason === null ? '' : `, ${reason}`}`}
        </span>
      )}
    </span>
  );
}

function rectsOf({ layers: drawn }: Band, layer: Layer) {
  const pairs = drawn[layer];
  const [y, height] = extents[layer];
  return Array.from({ length: pairs.length / 2 }, (_, place) => {
    const [x = 0, past = 0] = [pairs[2 * place], pairs[2 * place + 1]];
    const width = past - x;
    return (
      <>
        {/* Covered columns must not show through a gap. */}
        {(layer === 'gap' || layer === 'failed') && <rect class="hole" x={x} y={0} width={width} height={bandHeight} />}
        <rect class={layer} x={x} y={y} width={width} height={height} />
      </>
    );
  });
}

/** The range of some columns. */
export function rangeOf({ startMs, endMs, columns }: Band, [one, other]: readonly [number, number]): Range {
  const timeOf = (at: number) => nearestMinute(startMs + ((endMs - startMs) * at) / columns);
  return { startMs: timeOf(Math.min(one, other)), endMs: timeOf(Math.max(one, other) + 1) };
}

interface Segment extends Range {
  readonly layer: Layer;
  readonly name: string;
  /** The middle of the column. */
  readonly timeMs: EpochMs;
}

/** The range around a column in which the band looks the same, in minutes; null: nothing is tracked there. */
export function segmentAt(band: Band, column: number): Segment | null {
  const layer = layerAt(band, column);
  if (layer === null) return null;
  let [first, past] = [column, column + 1];
  while (first > 0 && layerAt(band, first - 1) === layer) first -= 1;
  while (past < band.columns && layerAt(band, past) === layer) past += 1;
  const timeMs = band.startMs + ((band.endMs - band.startMs) * (column + 0.5)) / band.columns;
  return { layer, name: layerNames[layer], timeMs, ...rangeOf(band, [first, past - 1]) };
}

const isMissing = (segment: Segment | null): segment is Segment =>
  segment?.layer === 'gap' || segment?.layer === 'failed';

/** What is drawn last stands above the others. */
function layerAt({ layers: drawn }: Band, column: number): Layer | null {
  return (
    layers.findLast((layer) => {
      const pairs = drawn[layer];
      return pairs.some((from, place) => place % 2 === 0 && column >= from && column < (pairs[place + 1] ?? 0));
    }) ?? null
  );
}

/** Windows that wait for their request, and those whose request is under way. */
export function describeQueued({ queued, active }: SeriesLine): string[] {
  return [
    ...(queued > 0 ? [`${formatCount(queued)} queued`] : []),
    ...(active > 0 ? [`${formatCount(active)} active`] : []),
  ];
}

/** The text alternative of a band. */
export function describeBand(line: SeriesLine, nowMs: number): string {
  const parts = [describeCoverage(line, nowMs)];
  if (line.gaps > 0) parts.push(`${counted(line.gaps, 'gap')}, ${formatDuration(line.missingMs)} missing`);
  else if (line.wantedMs > 0) parts.push('no gap');
  parts.push(...describeMissing(line));
  parts.push(...describeQueued(line));
  if (line.blocked !== null) parts.push(reasons.blocked.words);
  return parts.join(', ');
}

const shown: readonly Layer[] = ['covered', 'empty', 'gap', 'failed', 'queued', 'active'];

/** What the colours mean; folded on a narrow screen. */
export function Legend() {
  return (
    <details class="legend" open={matchMedia('(min-width: 48rem)').matches}>
      <summary>Legend</summary>
      <ul>
        {shown.map((layer) => {
          const [y, height] = extents[layer];
          return (
            <li key={layer}>
              <svg viewBox={`0 0 20 ${bandHeight}`} aria-hidden="true" class="band swatch">
                <rect class={layer} x={0} y={y} width={20} height={height} />
              </svg>
              {layerNames[layer]}
            </li>
          );
        })}
      </ul>
    </details>
  );
}

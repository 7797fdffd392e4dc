/** Another series beside the one of the chart, both as parts of 100 at the left edge of the screen. */

import { useState } from 'preact/hooks';
import type { SeriesLine } from '../../shapes.ts';
import { useModel } from '../state/use-model.ts';
import type { ComparedState, PriceChart, Span } from './price-chart.ts';
import { timeIn, type Zone } from './zone.ts';

/** Names that are offered while one is typed. */
const maxOffered = 50;

export function CompareField({
  own,
  chosen,
  onChoose,
}: {
  readonly own: SeriesLine | undefined;
  readonly chosen: SeriesLine | null;
  /** @param id 0: none. */
  readonly onChoose: (id: number) => void;
}) {
  const { series } = useModel();
  const [text, setText] = useState('');
  const words = text.toLowerCase().split(/\s+/);
  const offered = [];
  for (const one of series.values()) {
    if (offered.length === maxOffered) break;
    if (one.id !== own?.id && words.every((word) => one.name.toLowerCase().includes(word))) offered.push(one);
  }
  return (
    <span class="field">
      <label for="compare">Compare with</label>
      <input
        id="compare"
        list="compare-names"
        autocomplete="off"
        spellcheck={false}
        value={chosen?.name ?? text}
        onInput={({ currentTarget: { value } }) => {
          setText(value);
          const found = [...series.values()].find(({ name, id }) => name === value && id !== own?.id);
          if (found !== undefined || chosen !== null) onChoose(found?.id ?? 0);
        }}
      />
      <datalist id="compare-names">
        {offered.map(({ id, name }) => (
          <option key={id} value={name} />
        ))}
      </datalist>
    </span>
  );
}

const whyNone: Readonly<Record<ComparedState, string>> = {
  loading: 'is loading',
  failed: 'is not loaded',
  loaded: 'has no value at the times and interval of the screen',
};

/** The legend of a comparison: both series where they end, each from 100. */
export function ComparedLegend(of: {
  readonly chart: PriceChart | null;
  readonly own: string;
  readonly name: string;
  readonly zone: Zone;
}) {
  const { chart, own: ownName, name, zone } = of;
  const found = chart?.comparison() ?? null;
  if (found === null) return <p class="compared">{`${name} ${whyNone[chart?.comparedState ?? 'loading']}.`}</p>;
  const { own, other } = found;
  const isSame = own.startMs === other.startMs && own.endMs === other.endMs;
  return (
    <dl class="compared">
      <div>
        <dt>{ownName}</dt>
        <dd>{indexOf(own)}</dd>
      </div>
      <div class="compared-name">
        <dt>{name}</dt>
        <dd>{indexOf(other)}</dd>
      </div>
      <div>
        <dt>100 at</dt>
        <dd>{`${timeIn(zone, own.startMs)}, until ${timeIn(zone, own.endMs)}`}</dd>
      </div>
      {!isSame && (
        <div>
          <dt>{`${name} from`}</dt>
          <dd>{`${timeIn(zone, other.startMs)} to ${timeIn(zone, other.endMs)}`}</dd>
        </div>
      )}
    </dl>
  );
}

/** The last value where the first is 100. */
function indexOf({ first, last }: Span): string {
  const index = (Number(last) / Number(first)) * 100;
  return Number.isFinite(index) ? index.toFixed(2) : 'without a first value';
}

/** Actions that make requests, each with its cost beside it before it is used. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../../clock.ts';
import { sum } from '../../../model/sum.ts';
import type { SeriesLine } from '../../shapes.ts';
import type { Model } from '../state/model.ts';
import { mayNotAct, postAction } from '../state/server.ts';
import { useModel } from '../state/use-model.ts';
import { type Action, ActionBar } from './actions.tsx';
import { Copyable } from './copyable.tsx';

/** What has a cost, and why there may be nothing to request. */
const nothing: Readonly<Record<string, string>> = {
  retry: 'nothing waits for a later attempt',
  verify: 'nothing is covered',
  repair: 'no difference is known',
};
/** A cost is read again as what it depends on changes, at most so often. */
const againMs = 10_000;
const isPriced = ({ action }: Action) => Object.hasOwn(nothing, action);

/** @param isAskedFor whether a button asks for the costs: of another source, its list of markets may be requested. */
export function PricedActions({
  label,
  actions,
  isAskedFor = false,
}: {
  label: string;
  actions: readonly Action[];
  isAskedFor?: boolean;
}) {
  /** By the titles; a text that is no cost is why there is none. */
  const [costs, setCosts] = useState<Readonly<Record<string, string>>>({});
  const [isRefused, setRefused] = useState(false);
  const isAsking = useRef(false);
  /** Whether a cost was read before the last action ended. */
  const isOld = useRef(false);
  const figures = figuresOf(useModel(), actions);
  /** The figures when the costs were last asked for, and when that was. */
  const last = useRef({ figures: '', atMs: 0 });
  const wanted = useRef(actions);
  wanted.current = actions;
  const ofCost = actions.filter(isPriced);
  const ask = async () => {
    if (isAsking.current) return;
    isAsking.current = true;
    isOld.current = false;
    last.current = { figures, atMs: systemClock.monotonicMs() };
    const asked = wanted.current;
    const isStill = () => !isOld.current && bodiesOf(asked) === bodiesOf(wanted.current);
    for (const { title, action, body } of asked.filter(isPriced)) {
      const cost = mayNotAct() ? '' : await costOf(action, body);
      setRefused(mayNotAct());
      if (mayNotAct() || !isStill()) break;
      setCosts((before) => ({ ...before, [title]: cost }));
    }
    isAsking.current = false;
    // Others were chosen, or an action has ended, meanwhile.
    if (!isAskedFor && !isStill()) void ask();
  };
  /** What is known to differ, or waits, may be another now. */
  const onEnded = () => {
    isOld.current = true;
    if (!isAskedFor) void ask();
  };
  useEffect(() => {
    setCosts({});
    if (!isAskedFor) void ask();
  }, [bodiesOf(actions)]);
  useEffect(() => {
    if (isAskedFor || isAsking.current || ofCost.length === 0 || figures === last.current.figures) return;
    const waitMs = Math.max(0, last.current.atMs + againMs - systemClock.monotonicMs());
    const again = systemClock.after(waitMs, () => void ask());
    return () => again.stop();
  }, [figures, costs]);
  return (
    <>
      {isAskedFor && (
        <button type="button" onClick={() => void ask()}>
          Show the cost
        </button>
      )}
      <ActionBar
        label={label}
        actions={actions.map((action) => ({ ...action, cost: costs[action.title] ?? '' }))}
        onEnded={onEnded}
      />
      {isRefused && ofCost.length > 0 && (
        <p role="status">
          Without the token the page cannot ask for the cost. These commands say it before their first request:
        </p>
      )}
      {isRefused && ofCost.map(({ title, command }) => <Copyable key={title} command={command} />)}
    </>
  );
}

/** What costs depend on, as far as the stream tells it: others act too, and a backfill moves. */
function figuresOf({ series, summary }: Model, actions: readonly Action[]): string {
  const ids = actions.flatMap(({ body }) => ('series' in body ? (body.series as readonly string[]) : []));
  const named = ids.map((id) => series.get(Number(id)));
  // Without names all are meant, and what is no id is a pattern.
  const lines = named.length > 0 && named.every((line) => line !== undefined) ? named : [...series.values()];
  const total = (figure: (line: SeriesLine) => number) => sum(lines.map(figure));
  const ofCommands = ['verify', 'repair'].flatMap((lane) => summary?.requests.lanes[lane]?.slice(-2) ?? []);
  return [
    total(({ coveredMs, emptyMs }) => coveredMs + emptyMs),
    total(({ failedMs, awaitingMs }) => failedMs + awaitingMs),
    total(({ blocked }) => (blocked === null ? 0 : 1)),
    sum(ofCommands),
    summary?.queue?.waiting,
    summary?.perMinute,
  ].join();
}

const bodiesOf = (actions: readonly Action[]) => JSON.stringify(actions.map(({ body }) => body));

async function costOf(action: string, body: object): Promise<string> {
  try {
    const { cost } = await postAction(`${action}/cost`, body);
    return Array.isArray(cost) && cost.length > 0 ? cost.join('; ') : (nothing[action] ?? '');
  } catch (error) {
    return (error as Error).message;
  }
}

/** Buttons that do what commands do. Where the page may not act, each shows its command instead. */

import { Fragment } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../../clock.ts';
import { type DatasetName, datasetNames, datasetOf, datasetText } from '../../../model/datasets/index.ts';
import { shellCommand } from '../../../model/format.ts';
import { isTracking } from '../../../model/lanes.ts';
import { keyNames } from '../../../model/series.ts';
import type { BackfillLine } from '../../shapes.ts';
import { type Answer, fetchActions, postAction, RequestError } from '../state/server.ts';
import { useModel } from '../state/use-model.ts';
import { Copyable } from './copyable.tsx';
import { aboutText, asSentence, formatCount, wholeSecond } from './format.ts';
import { passFocus } from './panel.tsx';

export interface Action {
  readonly title: string;
  readonly action: string;
  readonly body: object;
  /** The same at a terminal. */
  readonly command: string;
  /** What it will request, as the service says; absent: it is not said, or nothing is requested. */
  readonly cost?: string;
  /** Why it is not requested as it is; absent: it can be. */
  readonly problem?: string;
  /** Asked before; absent: nothing. */
  readonly confirm?: string;
}

/** Between two readings of a long action. */
const followMs = 1000;

/** What became of a request of an action. */
type Outcome = {
  readonly text: string;
  /** When it was answered; null: it goes on, or was not sent. What it says may not hold for long. */
  readonly atMs: number | null;
} & ({ readonly kind: 'said' } | { readonly kind: 'refused'; readonly command: string | null });

/** The command that does at a terminal what was refused here; null: it is refused there too. */
export function commandInstead(error: unknown, command: string): string | null {
  return error instanceof RequestError && [400, 422].includes(error.status) ? null : command;
}

/** A row of buttons, and what became of the last one that was used, and of those that were not answered by then. */
export function ActionBar({
  label,
  actions,
  onEnded = () => {},
}: {
  label: string;
  actions: readonly Action[];
  /** One of them has ended, however. */
  onEnded?: () => void;
}) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const tell = (title: string, outcome: Outcome) => setOutcomes((before) => new Map(before).set(title, outcome));
  const model = useModel();
  const asking = useRef(new Set<string>());
  const isHere = useRef(true);
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = bar;
    return () => {
      isHere.current = false;
      const section = current?.closest('section') ?? null;
      if (section !== null && !section.hasAttribute('tabindex')) section.tabIndex = -1;
      passFocus(current, section);
    };
  }, []);
  /** Says how far a long action has come, until it has ended or the page has left it; Problems lists it too. */
  const follow = async (id: number, title: string, command: string) => {
    while (isHere.current) {
      await systemClock.sleep(followMs);
      const line = (await fetchActions()).find((one) => one.id === id);
      if (line === undefined) continue;
      const { state, result, progress, endedMs: atMs } = line;
      const text =
        state === 'running'
          ? `running${progress === null ? '' : `, ${formatCount(progress.done)} of ${formatCount(progress.of)}`}`
          : (result ?? state);
      const outcome = state === 'failed' ? ({ kind: 'refused', command } as const) : ({ kind: 'said' } as const);
      tell(title, { ...outcome, text: asSentence(`${title}: ${text}`), atMs });
      if (state !== 'running') return;
    }
  };
  const use = async ({ title, action, body, command, problem, confirm: question }: Action) => {
    if (problem !== undefined) {
      tell(title, { kind: 'said', text: asSentence(`${title}: ${problem}`), atMs: null });
      return;
    }
    // A double click asks once. A disabled button would lose the focus of the keyboard.
    if (asking.current.has(title) || (question !== undefined && !confirm(question))) return;
    const others = new Set(asking.current);
    asking.current.add(title);
    const requested: Outcome = { kind: 'said', text: `${title}: requested.`, atMs: null };
    setOutcomes((before) => new Map([...before].filter(([of]) => others.has(of))).set(title, requested));
    try {
      const { id, state, result } = await postAction(action, body);
      tell(title, {
        kind: 'said',
        text: asSentence(`${title}: ${state === 'running' ? 'running' : String(result ?? 'done')}`),
        atMs: state === 'running' ? null : model.nowMs(),
      });
      if (state === 'running') await follow(Number(id), title, command);
    } catch (error) {
      const text = asSentence(`${title}: ${(error as Error).message}`);
      tell(title, { kind: 'refused', text, atMs: model.nowMs(), command: commandInstead(error, command) });
    } finally {
      asking.current.delete(title);
      if (isHere.current) onEnded();
    }
  };
  return (
    <div class="actions" ref={bar}>
      {actions.length > 0 && (
        <div class="controls" role="group" aria-label={label}>
          {actions.map((action) => (
            <span key={action.title} class="priced">
              <button type="button" onClick={() => void use(action)}>
                {action.title}
              </button>
              {action.cost !== undefined && ` ${action.cost}`}
            </span>
          ))}
        </div>
      )}
      <OutcomeView outcomes={[...outcomes.values()]} />
    </div>
  );
}

export function OutcomeView({ outcomes }: { outcomes: readonly Outcome[] }) {
  return (
    <div role="status">
      {outcomes.map((outcome) => (
        <Fragment key={outcome.text}>
          <p class={outcome.kind === 'refused' ? 'bad' : undefined}>
            {outcome.text}
            <AnsweredAt atMs={outcome.atMs} />
          </p>
          {outcome.kind === 'refused' && outcome.command !== null && <Copyable command={outcome.command} />}
        </Fragment>
      ))}
    </div>
  );
}

function AnsweredAt({ atMs }: { atMs: number | null }) {
  if (atMs === null) return null;
  const time = new Date(wholeSecond(atMs)).toISOString();
  return (
    <>
      {' '}
      <time dateTime={time}>{`${time.slice(11, 19)}Z`}</time>
    </>
  );
}

/** An action on series, by their ids. @param more what the body and the command have beside them. */
export function seriesAction(
  title: string,
  action: string,
  ids: readonly string[],
  more: { readonly body?: object; readonly options?: readonly string[] } = {},
): Action {
  const command = ['npx tidemark', action, ...ids, ...(more.options ?? [])].join(' ');
  return { title, action, body: { series: ids, ...more.body }, command };
}

/** What can be done with one series. @param name as commands take it. */
export function actionsOf(id: number, name: string): readonly Action[] {
  const ids = [String(id)];
  return [
    seriesAction('Retry now', 'retry', ids),
    seriesAction('Verify a sample', 'verify', ids, { options: ['--sample 30'] }),
    seriesAction('Repair differences', 'repair', ids),
    { ...seriesAction('Untrack', 'untrack', ids), confirm: `Untrack ${name}? Its stored points stay.` },
  ];
}

/** What can be done with all. */
export const commonActions: readonly Action[] = [
  { title: 'Retry all now', action: 'retry', body: {}, command: 'npx tidemark retry' },
  {
    title: 'Pause',
    action: 'pause',
    body: {},
    command: 'npx tidemark pause',
    confirm: 'Pause all requests, on all machines?',
  },
  { title: 'Resume', action: 'resume', body: {}, command: 'npx tidemark resume' },
];

/** Cancels what asks for ranges; null: it is cancelled by a change of the watch list. */
export function cancelOf({ id, kind }: BackfillLine): Action | null {
  if (kind === 'watch_list') return null;
  const back = isTracking(kind) ? 'What it tracks is taken back, and stored' : 'Stored';
  return {
    ...{ title: `Cancel ${id}`, action: 'cancel', body: { backfill: id } },
    command: `npx tidemark backfills cancel ${id}`,
    confirm: `Cancel ${kind.replace('_', ' ')} ${id}? ${back} points stay.`,
  };
}

/** `binance bitcoin/tether h1 and 2 more`. */
export function namesOf({ names: [first = 'deleted'], series }: BackfillLine): string {
  return `${first}${series > 1 ? ` and ${formatCount(series - 1)} more` : ''}`;
}

/** What may be left out of what is tracked. With a source its symbol names a market, without other names. */
const optionalOf = { asset: ['to', 'source'], market: ['to', 'source', 'symbol'] } as const;

export function trackCommand(word: string, options: readonly (readonly [name: string, value: string])[]): string {
  return shellCommand('npx', 'tidemark', 'track', word, ...options.flatMap(([name, value]) => [`--${name}`, value]));
}

/** Tracks a series, after a look at what they cost. */
export function TrackForm() {
  const [dataset, setDataset] = useState<DatasetName>('candles');
  const { of, intervals, word } = datasetOf(dataset);
  const sources = useModel().summary?.sources ?? [];
  const names = keyNames[of].filter((name) => name !== 'interval');
  const optional = optionalOf[of];
  const [hasSymbol, setHasSymbol] = useState(false);
  const [cost, setCost] = useState<{ readonly words: string; readonly track: Action } | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  /** Counts the changes of the fields: a cost is that of the fields as they were. */
  const edits = useRef(0);
  const takeBack = () => {
    edits.current += 1;
    setCost(null);
    setOutcome(null);
  };
  const plan = async (form: HTMLFormElement) => {
    const given = new FormData(form);
    const text = (name: string) => String(given.get(name) ?? '');
    const isGiven = (name: string) => text(name).trim() !== '';
    const [named, more] = [names.filter(isGiven), optional.filter(isGiven)];
    const key = Object.fromEntries([...named, ...more].map((name) => [name, text(name)]));
    const body = { dataset, ...key, from: text('from'), intervals: [text('interval')] };
    const command = trackCommand(
      word,
      [...named, 'interval', 'from', ...more].map((name) => [name, text(name)]),
    );
    takeBack();
    const planned = edits.current;
    try {
      const words = wordsOfCost(await postAction('plan', body));
      if (planned === edits.current) setCost({ words, track: { title: 'Track', action: 'track', body, command } });
    } catch (error) {
      if (planned === edits.current)
        setOutcome({
          ...{ kind: 'refused', text: asSentence((error as Error).message), atMs: null },
          command: commandInstead(error, command),
        });
    }
  };
  return (
    <details id="track">
      <summary>Track a series</summary>
      <form
        class="controls"
        onInput={({ currentTarget }) => {
          takeBack();
          setHasSymbol(String(new FormData(currentTarget).get('symbol') ?? '').trim() !== '');
        }}
        onSubmit={(event) => {
          event.preventDefault();
          void plan(event.currentTarget);
        }}
      >
        <span class="field">
          <label for="track-dataset">dataset</label>
          <select
            id="track-dataset"
            value={dataset}
            onChange={({ currentTarget }) => setDataset(currentTarget.value as DatasetName)}
          >
            {datasetNames.map((name) => (
              <option key={name} value={name}>
                {datasetText(name)}
              </option>
            ))}
          </select>
        </span>
        {[...names, 'from', ...optional].map((name, place) => (
          <span key={name} class="field">
            <label for={`track-${name}`}>{place > names.length ? `${name} (optional)` : name}</label>
            <input
              id={`track-${name}`}
              name={name}
              list={name === 'source' ? 'track-sources' : undefined}
              defaultValue={name === 'from' ? '1y' : ''}
              required={name === 'from' || (place < names.length && !hasSymbol)}
              autocomplete="off"
              spellcheck={false}
            />
          </span>
        ))}
        <datalist id="track-sources">
          {sources.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <span class="field">
          <label for="track-interval">interval</label>
          <select id="track-interval" name="interval" defaultValue="h1">
            {intervals.map((name) => (
              <option key={name} value={name} selected={name === 'h1'}>
                {name}
              </option>
            ))}
          </select>
        </span>
        <button type="submit">Show the cost</button>
      </form>
      {cost === null ? (
        <OutcomeView outcomes={outcome === null ? [] : [outcome]} />
      ) : (
        <>
          <p role="status">{cost.words}</p>
          <ActionBar label="Track it" actions={[cost.track]} />
        </>
      )}
    </details>
  );
}

export function wordsOfCost(cost: Answer): string {
  const requests = formatCount(Number(cost.requests));
  const duration = aboutText(Number(cost.durationMs));
  const megabytes = formatCount(Math.ceil(Number(cost.diskBytes) / 1e6));
  const notes = Array.isArray(cost.notes) ? cost.notes.map((note) => `; ${note}`).join('') : '';
  return (
    `${requests} requests, ${duration}, up to ${formatCount(Number(cost.points))} points, ${megabytes} ` + `MB${notes}.`
  );
}

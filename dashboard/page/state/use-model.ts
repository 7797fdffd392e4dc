/** The model for components, which are drawn again at each of its changes. */

import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import { systemClock } from '../../../clock.ts';
import { Model } from './model.ts';

export const ModelContext = createContext(new Model());

/** @returns draws the component again, and a number that grows with each time. */
function useRedraw(): readonly [number, () => void] {
  const [count, dispatch] = useReducer((before: number, _: null) => before + 1, 0);
  const redraw = useCallback(() => dispatch(null), []);
  return [count, redraw];
}

export function useModel(): Model {
  const model = useContext(ModelContext);
  const [, redraw] = useRedraw();
  useLayoutEffect(() => model.onChange(redraw), [model]);
  return model;
}

/** Draws the component again each `everyMs`: ages grow without events. */
export function useClock(everyMs: number): void {
  const [, redraw] = useRedraw();
  useEffect(() => {
    const timer = systemClock.every(everyMs, redraw);
    return () => timer.stop();
  }, [everyMs]);
}

/** Follows a value that changes often, `ms` behind it. @returns null: not yet. */
export function useDelayed<Value>(value: Value, ms: number): Value | null {
  const [shown, setShown] = useState<Value | null>(null);
  useEffect(() => {
    if (shown === value) return;
    const next = systemClock.after(ms, () => setShown(value));
    return () => next.stop();
  }, [shown, shown === value]);
  return shown;
}

export type Loaded<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'loaded'; readonly value: Value }
  /** `value`: of the last answer. */
  | { readonly kind: 'failed'; readonly message: string; readonly value?: Value };

/**
 * Loads when the component opens, when one of `inputs` changes, when a lost store is back, and some seconds after it
 * failed. One request at a time: changes may be faster than answers, and only the last state matters.
 *
 * @param isWanted false: not yet.
 */
export function useLoaded<Value>(
  load: () => Promise<Value>,
  inputs: readonly unknown[],
  isWanted = true,
): readonly [Loaded<Value>, again: () => void] {
  const model = useContext(ModelContext);
  const [loaded, setLoaded] = useState<Loaded<Value>>({ kind: 'loading' });
  const [asked, again] = useRedraw();
  const state = useRef({ load, isLoading: false, again: false, ended: false, hasFailed: false }).current;
  state.load = load;
  async function take(): Promise<void> {
    state.again = state.isLoading;
    if (state.isLoading) return;
    state.isLoading = true;
    const answer = await state.load().then(
      (value) => ({ kind: 'loaded', value }) as const,
      (error) => ({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }) as const,
    );
    state.isLoading = false;
    state.hasFailed = answer.kind === 'failed';
    if (state.ended) return;
    setLoaded((before) => (answer.kind === 'loaded' ? answer : { ...before, ...answer }));
    if (state.again) await take();
  }
  useEffect(() => {
    if (isWanted) void take();
  }, [...inputs, isWanted, asked]);
  useEffect(() => model.onBack(again), [model]);
  useEffect(() => model.onRetry(() => state.hasFailed && again()), [model]);
  useEffect(
    () => () => {
      state.ended = true;
    },
    [],
  );
  return [loaded, again];
}

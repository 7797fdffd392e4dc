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
  | { readonly kind: 'failed'; readonly message: string };

/**
 * Loads when the component opens, when one of `inputs` changes, when a lost store is back, and some seconds after it
 * failed. What was loaded last stays until the next answer.
 */
export function useLoaded<Value>(
  load: () => Promise<Value>,
  inputs: readonly unknown[],
): readonly [Loaded<Value>, again: () => void] {
  const model = useContext(ModelContext);
  const [loaded, setLoaded] = useState<Loaded<Value>>({ kind: 'loading' });
  const [asked, again] = useRedraw();
  const wanted = useRef(0);
  const hasFailed = useRef(false);
  useEffect(() => {
    // Only the last request counts, in whatever order the answers arrive.
    wanted.current += 1;
    hasFailed.current = false;
    const mine = wanted.current;
    const take = (answer: Loaded<Value>) => {
      if (mine !== wanted.current) return;
      hasFailed.current = answer.kind === 'failed';
      setLoaded(answer);
    };
    load().then(
      (value) => take({ kind: 'loaded', value }),
      (error) => take({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
    );
  }, [...inputs, asked]);
  useEffect(() => model.onBack(again), [model]);
  useEffect(
    () =>
      model.onRetry(() => {
        if (hasFailed.current) again();
      }),
    [model],
  );
  useEffect(
    () => () => {
      wanted.current = -1;
    },
    [],
  );
  return [loaded, again];
}

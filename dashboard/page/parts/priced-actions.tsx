/** Actions that make requests, each with its cost beside it before it is used. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { mayNotAct, postAction } from '../state/server.ts';
import { type Action, ActionBar } from './actions.tsx';
import { Copyable } from './copyable.tsx';

/** What has a cost, and why there may be nothing to request. */
const nothing: Readonly<Record<string, string>> = {
  retry: 'nothing waits for a later attempt',
  verify: 'nothing is covered',
  repair: 'no difference is known',
};
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
  const wanted = useRef(actions);
  wanted.current = actions;
  const ofCost = actions.filter(isPriced);
  const ask = async () => {
    if (isAsking.current) return;
    isAsking.current = true;
    isOld.current = false;
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

const bodiesOf = (actions: readonly Action[]) => JSON.stringify(actions.map(({ body }) => body));

async function costOf(action: string, body: object): Promise<string> {
  try {
    const { cost } = await postAction(`${action}/cost`, body);
    return Array.isArray(cost) && cost.length > 0 ? cost.join('; ') : (nothing[action] ?? '');
  } catch (error) {
    return (error as Error).message;
  }
}

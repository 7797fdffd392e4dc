/** Actions that make requests, each with its cost beside it before it is used. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { postAction } from '../state/server.ts';
import { type Action, ActionBar } from './actions.tsx';

const priced = ['retry', 'verify', 'repair'];

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
  const isAsking = useRef(false);
  const ask = async () => {
    if (isAsking.current) return;
    isAsking.current = true;
    for (const { title, action, body } of actions.filter((one) => priced.includes(one.action))) {
      const cost = await costOf(action, body);
      setCosts((before) => ({ ...before, [title]: cost }));
    }
    isAsking.current = false;
  };
  useEffect(() => {
    if (!isAskedFor) void ask();
  }, [JSON.stringify(actions.map(({ body }) => body))]);
  return (
    <>
      {isAskedFor && (
        <button type="button" onClick={() => void ask()}>
          Show the cost
        </button>
      )}
      <ActionBar label={label} actions={actions.map((action) => ({ ...action, cost: costs[action.title] ?? '' }))} />
    </>
  );
}

async function costOf(action: string, body: object): Promise<string> {
  try {
    const { cost } = await postAction(`${action}/cost`, body);
    return Array.isArray(cost) && cost.length > 0 ? cost.join('; ') : 'nothing to request';
  } catch (error) {
    return (error as Error).message;
  }
}

/** What a user orders for a source, as a command and at the dashboard: to pause it, resume it, or ask it for less. */

import { badArgument } from '../../errors.ts';
import { counted, formatCount, formatTime, wholeSecond } from '../../model/format.ts';
import { mayBeMended } from '../../planning/source-refusal.ts';
import { readSourceTexts } from '../../store/series/sources.ts';
import { endSourcePause, writeLoweredBudget, writeSourcePause } from '../../store/settings/source-orders.ts';
import { changeRefusal, readRefusedUntil } from '../../store/settings/source-refusal.ts';
import { askQueues, type OperationContext } from '../context.ts';
import { readOwnBudget } from '../estimate.ts';
import { sourceNamed } from './markets.ts';

/** @returns the result in words. @throws TidemarkError BAD_ARGUMENT for an unknown name. */
export async function pauseSource(context: OperationContext, name: string, by: string): Promise<string> {
  const source = await nameOf(context, name);
  const text = (await readSourceTexts(context.database, context.clock.now()))(source);
  const isNew = await writeSourcePause(context.database, source, { sinceMs: context.clock.now(), by });
  return isNew
    ? `${text} is paused: only requests under way end; \`tidemark sources resume ${source}\` goes on`
    : `${text} was paused before`;
}

/**
 * Ends the pause of a user. Without one it has a source that refuses its key or a country asked anew, as where that has
 * been mended; a ban ends by itself.
 *
 * @returns the result in words. @throws TidemarkError BAD_ARGUMENT for an unknown name.
 */
export async function resumeSource(context: OperationContext, name: string): Promise<string> {
  const { database, clock } = context;
  const source = await nameOf(context, name);
  const nowMs = clock.now();
  const text = (await readSourceTexts(database, nowMs))(source);
  if (await endSourcePause(database, source, nowMs)) return `${text} is resumed`;
  const untilMs = await readRefusedUntil(database, source, nowMs);
  if (untilMs === null) return `${text} is not paused`;
  const after = await changeRefusal(database, source, (before) =>
    before !== null && mayBeMended(before) ? { ...before, untilMs: nowMs } : null,
  );
  if (after === null || after.untilMs > nowMs)
    return `${text} is not paused: ${banText(untilMs)}, which ends by itself`;
  await askQueues(
    context,
    (queues) => queues.requestsOf(source).endPause(),
    () => {},
  );
  return `${text} is not paused; it is asked again within half a minute, and what waits follows when it answers`;
}

const banText = (untilMs: number) => `it accepts no request until ${formatTime(wholeSecond(untilMs))}`;

/**
 * @param perMinute null: all that the source allows. @returns the result in words.
 * @throws TidemarkError BAD_ARGUMENT for an unknown name, and for more than the source allows.
 */
export async function changeBudget(
  context: OperationContext,
  { name, perMinute, by }: { readonly name: string; readonly perMinute: number | null; readonly by: string },
): Promise<string> {
  const { database, clock } = context;
  const source = await nameOf(context, name);
  const own = await readOwnBudget(context, source);
  const ownText = own === 0 ? 'no limit' : `${counted(own, 'request')} a minute`;
  if (perMinute === null) {
    const isNew = await writeLoweredBudget(database, source, null);
    return `the budget of ${source} ${isNew ? 'is again' : 'was not lowered; it is'} ${ownText}`;
  }
  if (own > 0 && perMinute > own)
    throw badArgument(
      `${source} allows ${ownText}, and ${formatCount(perMinute)} is more`,
      `\`tidemark sources budget ${source} --reset\` has it use all of them`,
    );
  await writeLoweredBudget(database, source, { perMinute, sinceMs: clock.now(), by });
  return (
    `the budget of ${source} is ${formatCount(perMinute)} a minute, in place of ${ownText}; ` +
    `\`tidemark sources budget ${source} --reset\` takes it back`
  );
}

const nameOf = async (context: OperationContext, name: string) => (await sourceNamed(context, name.trim())).facts.name;

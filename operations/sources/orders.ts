/** What a user orders for a source, as a command and at the dashboard: to pause it, resume it, or ask it for less. */

import { badArgument } from '../../errors.ts';
import { counted, formatCount } from '../../model/format.ts';
import { readSourceTexts } from '../../store/series/sources.ts';
import { endSourcePause, writeLoweredBudget, writeSourcePause } from '../../store/settings/source-orders.ts';
import type { OperationContext } from '../context.ts';
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

/** @returns the result in words. @throws TidemarkError BAD_ARGUMENT for an unknown name. */
export async function resumeSource(context: OperationContext, name: string): Promise<string> {
  const source = await nameOf(context, name);
  const text = (await readSourceTexts(context.database, context.clock.now()))(source);
  const isNew = await endSourcePause(context.database, source, context.clock.now());
  return isNew ? `${text} is resumed` : `${text} is not paused`;
}

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
    throw badArgument(`${source} allows ${ownText}, and ${formatCount(perMinute)} is more`);
  await writeLoweredBudget(database, source, { perMinute, sinceMs: clock.now(), by });
  return (
    `the budget of ${source} is ${formatCount(perMinute)} a minute, in place of ${ownText}; ` +
    `\`tidemark sources budget ${source} --reset\` takes it back`
  );
}

const nameOf = async (context: OperationContext, name: string) => (await sourceNamed(context, name.trim())).facts.name;

/**
 * When a target is told, of the conditions as they are seen at each look: of the first that reaches its level. A milder
 * one, such as a ban, may stand before it.
 *
 *   calm      All conditions are milder than the target's level, or the trouble has not lasted for `afterMs`.
 *   told      Trouble was told. Another kind of it, or that of another source, is told as a change once it has lasted,
 *             the same again after `everyMs`, and its end once the calm has lasted: what comes and goes faster tells
 *             nothing.
 *
 * The delay counts from the start of the process: right after it no worker may be connected yet. Trouble that was not
 * delivered ends without a word.
 */

import type { EpochMs } from '../model/intervals.ts';
import { type Headline, levels } from '../planning/conditions.ts';
import type { NotifyEntry } from '../watch-list/watch-list.ts';

export const events = ['trouble', 'change', 'reminder', 'recovery', 'test'] as const;
export type Event = (typeof events)[number];

/** What is told of a condition. */
export type Said = Pick<Headline, 'kind' | 'level' | 'text' | 'source' | 'command'>;

/** As it is kept in the store: one of an older release names no source. */
export interface Told extends Pick<Said, 'kind' | 'level' | 'text'>, Partial<Pick<Said, 'source'>> {
  readonly sinceMs: EpochMs;
  readonly atMs: EpochMs;
  /** Null: it came to nothing. */
  readonly event: Event | null;
  /** Whether the target knows of the trouble. */
  readonly isKnown: boolean;
}

/** The condition for a target, and since when it is of this kind. */
export interface Seen {
  /** The first that reaches its level, or else the headline. */
  readonly headline: Said;
  readonly isTrouble: boolean;
  readonly sinceMs: EpochMs;
  /** Since when there has been trouble of any kind; null: there is none. */
  readonly troubleSinceMs: EpochMs | null;
}

type Rule = Pick<NotifyEntry, 'level' | 'afterMs' | 'everyMs'>;

/** The headline, and what else holds, in its order. */
export type Conditions = readonly [headline: Said, ...also: Said[]];

export function see(before: Seen | null, conditions: Conditions, { level }: Rule, nowMs: EpochMs): Seen {
  const trouble = conditions.find((one) => levels.indexOf(one.level) >= levels.indexOf(level));
  const isTrouble = trouble !== undefined;
  const headline = trouble ?? conditions[0];
  const isSame =
    before !== null && before.isTrouble === isTrouble && (!isTrouble || isAlike(before.headline, headline));
  const goesOn = before !== null && !(hidesRest(before.headline) && !hidesRest(headline));
  return {
    headline,
    isTrouble,
    sinceMs: isSame ? before.sinceMs : nowMs,
    troubleSinceMs: isTrouble ? ((goesOn ? before.troubleSinceMs : null) ?? nowMs) : null,
  };
}

/** Whether it is the same trouble: two sources that are away are two. */
function isAlike(one: Pick<Told, 'kind' | 'source'>, other: Said): boolean {
  return one.kind === other.kind && (one.source ?? null) === other.source;
}

/** Behind it nothing else is seen. What is seen right after it, such as workers that connect anew, has begun then. */
function hidesRest({ kind }: Said): boolean {
  return kind === 'database_away' || kind === 'queue_away';
}

/** What is to be told, and from when on; null: nothing. */
export function dueOf(told: Told | null, seen: Seen, rule: Rule): { event: Event; atMs: EpochMs } | null {
  const { isTrouble, sinceMs, headline } = seen;
  if (!isTrouble) return told === null ? null : { event: 'recovery', atMs: sinceMs + rule.afterMs };
  if (told === null) return { event: 'trouble', atMs: (seen.troubleSinceMs ?? sinceMs) + rule.afterMs };
  if (!isAlike(told, headline)) return { event: told.isKnown ? 'change' : 'trouble', atMs: sinceMs + rule.afterMs };
  if (rule.everyMs === null) return null;
  return { event: told.isKnown ? 'reminder' : 'trouble', atMs: told.atMs + rule.everyMs };
}

/** Since when the condition holds, also before this process began. */
export function heldSince(told: Told | null, { headline, sinceMs, troubleSinceMs }: Seen): EpochMs {
  if (told !== null && isAlike(told, headline)) return Math.min(told.sinceMs, sinceMs);
  return told === null ? (troubleSinceMs ?? sinceMs) : sinceMs;
}

/**
 * Lanes: why a window or a page is requested. Every property of a lane is in its row here.
 *
 * `refresh` requests the newest data, `backfill` older gaps. `probe` requests days to find where a series begins
 * (`planning/beginning.ts`). `reread` requests covered ranges again on a schedule, `repair` and `verify` for the
 * command of that name. `poll` requests lists, which have no window.
 */

export interface LaneRule {
  /** Of its jobs; lower runs first. BullMQ runs jobs without a priority before all others. */
  readonly priority: number;
  /** The share of the budget that its jobs take. */
  readonly slots: 'refresh' | 'backfill' | 'reread' | 'command';
  /** Its windows are gaps. A window of the same bounds in another such lane is the same job. */
  readonly fillsGap: boolean;
  /** Its windows are covered already. They do not delay a refresh. */
  readonly rereads: boolean;
  /** Whether its answers are stored; false: they are compared with the store. */
  readonly stores: boolean;
}

const one = { fillsGap: false, rereads: false, stores: true } as const;

/** In the order of reports. */
export const lanes = {
  refresh: { ...one, priority: 1, slots: 'refresh', fillsGap: true },
  // A poll cannot be caught up later, so it ranks with refreshes.
  poll: { ...one, priority: 1, slots: 'refresh' },
  backfill: { ...one, priority: 10, slots: 'backfill', fillsGap: true },
  // The windows of its series wait for the probe.
  probe: { ...one, priority: 5, slots: 'backfill' },
  // With the priority of backfill, and few slots: behind a backfill of days none of these would ever run.
  reread: { ...one, priority: 10, slots: 'reread', rereads: true },
  repair: { ...one, priority: 10, slots: 'command', rereads: true },
  verify: { ...one, priority: 10, slots: 'command', rereads: true, stores: false },
} as const satisfies Readonly<Record<string, LaneRule>>;

export type Lane = keyof typeof lanes;
export type WindowLane = Exclude<Lane, 'poll'>;

export const laneNames = Object.keys(lanes) as readonly Lane[];
export const windowLanes = laneNames.filter((lane): lane is WindowLane => lane !== 'poll');

/** Of windows that are not covered. */
export const fillingLanes = windowLanes.filter((lane) => !lanes[lane].rereads);

/** Of windows that are requested because their range is tracked, and by no command of their name. */
export const trackingLanes = windowLanes.filter((lane) => lanes[lane].slots !== 'command');

/** An entry for each lane. */
export function byLane<Name extends Lane, Value>(names: readonly Name[], value: (lane: Name) => Value) {
  return Object.fromEntries(names.map((lane) => [lane, value(lane)])) as Record<Name, Value>;
}

/** Number of jobs that take a share of the budget. */
export function countBySlots(load: Readonly<Record<WindowLane, number>>, slots: LaneRule['slots']): number {
  return windowLanes.filter((lane) => lanes[lane].slots === slots).reduce((sum, lane) => sum + load[lane], 0);
}

/**
 * What asks for ranges of series. `track` and `watch_list` leave the requests to the scheduler; `repair` and `verify`
 * request covered windows again.
 */
export const backfillKinds = ['backfill', 'track', 'watch_list', 'repair', 'verify'] as const;
export type BackfillKind = (typeof backfillKinds)[number];

/**
 *   running      Its process runs, or a scheduler makes its requests, or may: the queue does not answer.
 *   waiting      As `running`, and nothing of it can be requested before a later time. No row has it.
 *   paused       As `running`, and a user has paused what it requests. No row has it.
 *   done         Everything in it is covered, as far as it is tracked and a source has it.
 *   failed       It ended with an error, and nobody goes on with it.
 *   cancelled    Somebody has cancelled it.
 *   interrupted  Its process was stopped or killed, and nobody goes on with it.
 */
export const backfillStates = ['running', 'waiting', 'paused', 'done', 'failed', 'cancelled', 'interrupted'] as const;
export type BackfillState = (typeof backfillStates)[number];

/** Whether it tracks ranges, which a scheduler fills too. */
export function isTracking(kind: BackfillKind): kind is Exclude<BackfillKind, Lane> | 'backfill' {
  return kind === 'backfill' || kind === 'track' || kind === 'watch_list';
}

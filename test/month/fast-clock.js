// Stands in for clock.ts in the programs of the month: the time passes faster, and waits of minutes with it. What is
// short stays real: time limits, ticks, and the pauses between attempts, which the machine needs as much as in any month.

const real = await import(new URL(import.meta.url).searchParams.get('real'));
const { nowMs, startedAtMs, speed } = JSON.parse(process.env.TEST_FAST_CLOCK);

const byTheClockFromMs = 5 * 60_000;
const scaled = (ms) => (ms >= byTheClockFromMs ? ms / speed : ms);

export const { repeatOn, settledWithin, stopped, unlessStopped } = real;
export const systemClock = Object.freeze({
  ...real.systemClock,
  now: () => nowMs + Math.round((real.systemClock.now() - startedAtMs) * speed),
  sleep: (ms, signal) => real.systemClock.sleep(scaled(ms), signal),
  after: (ms, work) => real.systemClock.after(scaled(ms), work),
  every: (ms, work) => real.systemClock.every(scaled(ms), work),
  repeat: (...parts) => repeatOn(systemClock, ...parts),
});

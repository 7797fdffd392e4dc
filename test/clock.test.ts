import { expect, it } from 'vitest';
import { systemClock as clock } from '../clock.ts';

it('ends a sleep after its time, and at once when its signal is aborted', async () => {
  const stop = new AbortController();
  const begun = clock.monotonicMs();
  const short = clock.sleep(3).then(() => clock.monotonicMs() - begun);
  const long = clock.sleep(3_600_000, stop.signal);
  expect(await short).toBeGreaterThan(1); // A timer of 3 ms may end after 2.
  stop.abort();
  await long;
  await clock.sleep(3_600_000, stop.signal);
});

it('calls a stopped timer no more', async () => {
  const calls: string[] = [];
  await new Promise<void>((resolve) => {
    clock.after(1, () => calls.push('stopped')).stop();
    clock.after(2, resolve);
  });
  expect(calls).toEqual([]);
});

it('repeats work until it is closed, and then aborts it and waits for its end', async () => {
  let runs = 0;
  let ended = false;
  let reachThird = () => {};
  const third = new Promise<void>((resolve) => {
    reachThird = resolve;
  });
  const repeated = clock.repeat(1, async (signal) => {
    runs += 1;
    if (runs < 3) return;
    reachThird();
    await clock.sleep(3_600_000, signal);
    ended = true;
  });
  await third;
  await repeated.close();
  expect({ runs, ended }).toEqual({ runs: 3, ended: true });
});

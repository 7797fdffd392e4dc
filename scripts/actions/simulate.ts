/** `tidemark simulate`: a synthetic Market Data Service. */

import { TidemarkError } from '../../errors.ts';
import { formatCount } from '../../format.ts';
import { onStop, stopped } from '../../runtime/lifecycle.ts';
import {
  type RunningSimulator,
  type SimulatorServiceOptions,
  startSimulator,
} from '../../simulator/start.ts';

/** Serves until SIGTERM or Ctrl-C. */
export async function run(options: SimulatorServiceOptions): Promise<void> {
  const stop = onStop();
  const simulator = await start(options);
  console.log(`serving synthetic data at ${simulator.url} (seed ${options.seed}); Ctrl-C stops`);
  await stopped(stop.signal);
  const served = simulator.requests();
  await simulator.close();
  stop.release();
  console.log(
    `answered ${formatCount(served.total)} requests with synthetic data, ${formatCount(served.count429)} of them 429`,
  );
}

/** @throws TidemarkError BAD_ARGUMENT when the sum of the rates exceeds one. */
async function start(options: SimulatorServiceOptions): Promise<RunningSimulator> {
  try {
    return await startSimulator(options);
  } catch (error) {
    if (error instanceof RangeError) throw new TidemarkError('BAD_ARGUMENT', error.message, { cause: error });
    throw error;
  }
}

/** `tidemark simulate`: a synthetic Market Data Service, or a synthetic venue. */

import { stopped, systemClock } from '../../clock.ts';
import { TidemarkError } from '../../errors.ts';
import { formatCount } from '../../model/format.ts';
import { onStop } from '../../runtime/lifecycle.ts';
import { type SimulatorServiceOptions, startSimulator } from '../../simulator/start.ts';
import { startVenueSimulator, type VenueSimulatorOptions } from '../../simulator/venues/start.ts';

type Options = SimulatorServiceOptions & Omit<VenueSimulatorOptions, 'profile'>;
type Profile = VenueSimulatorOptions['profile'] | null;

/**
 * Serves until SIGTERM or Ctrl-C.
 *
 * @param profile a venue; null: the Market Data Service.
 */
export async function run(profile: Profile, options: Options): Promise<void> {
  const stop = onStop({ clock: systemClock });
  const simulator = await start(profile, options);
  console.log(`serving synthetic data at ${simulator.url} (seed ${options.seed}); Ctrl-C stops`);
  await stopped(stop.signal);
  const served = simulator.requests();
  await simulator.close();
  stop.release();
  console.log(
    `answered ${formatCount(served.total)} requests with synthetic data, refused ` +
      `${formatCount(served.refused)} of them`,
  );
}

/** @throws TidemarkError BAD_ARGUMENT when the sum of the rates exceeds one. */
async function start(profile: Profile, options: Options) {
  try {
    return await (profile === null ? startSimulator(options) : startVenueSimulator({ ...options, profile }));
  } catch (error) {
    if (error instanceof RangeError) throw new TidemarkError('BAD_ARGUMENT', error.message, { cause: error });
    throw error;
  }
}

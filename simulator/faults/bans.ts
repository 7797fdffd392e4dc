/** Refusals of all requests of an address for a while. */

import type { Clock } from '../../clock.ts';
import type { BanForm, Faults } from './faults.ts';

export interface BanAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const page = (title: string, text: string) =>
  `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>403 ERROR</h1><p>${text}</p></body></html>`;

const forms: Readonly<Record<BanForm, (own: BanAnswer, inMs: number) => BanAnswer>> = {
  own: (own) => own,
  'no-time': ({ status, body }) => ({ status, body }),
  firewall: () => ({ status: 403, body: page('ERROR: The request could not be satisfied', 'Request blocked.') }),
  country: () => ({ status: 451, body: '{"code":0,"msg":"Service unavailable from a restricted location."}' }),
  payment: () => ({ status: 402, body: '{"error":"The credits of this plan are used up."}' }),
  unavailable: (_, inMs) => ({
    ...{ status: 503, body: 'Service Unavailable' },
    headers: { 'retry-after': String(Math.ceil(inMs / 1000)) },
  }),
  'unavailable-no-time': () => ({ status: 503, body: 'Service Unavailable' }),
};

/** The first ban begins at once. */
export function createBans(clock: Pick<Clock, 'now'>, faults: () => Pick<Faults, 'banMs' | 'banForm'>) {
  const endMs = () => clock.now() + faults().banMs;
  let untilMs = endMs();
  return Object.freeze({
    /** Begins anew, as the faults are now. */
    begin(): void {
      untilMs = endMs();
    },
    /** The refusal of a request; null: no ban is in force. @param own how the source itself refuses for so long. */
    answer(own: (inMs: number) => BanAnswer): BanAnswer | null {
      const inMs = untilMs - clock.now();
      return inMs <= 0 ? null : forms[faults().banForm](own(inMs), inMs);
    },
  });
}

/** The answer of `/candles`: a list like the others, with a short way for the form in which nearly all come. */

import type { CandleInterval } from '../contract/intervals.ts';
import type { Candle } from '../contract/resources.ts';
import { type Answer, listAnswer, type Rejected, replyFacts } from './answer.ts';
import type { Reply } from './attempt.ts';
import { impossible } from './impossible-candle.ts';
import { candleReader } from './rows.ts';
import { scanCandles } from './scan-candles.ts';

/** @throws SourceError as {@link listAnswer}. */
export function candleAnswer(reply: Reply, interval: CandleInterval): Answer<Candle> {
  const scanned = scanCandles(reply.body);
  if (scanned === null) return listAnswer(reply, candleReader(interval));
  const rows: Candle[] = [];
  const rejected: Rejected[] = [];
  for (const candle of scanned.candles) {
    const reason = impossible(candle, interval);
    if (reason === null) rows.push(candle);
    else rejected.push({ raw: JSON.stringify(candle), reason });
  }
  return { rows, rejected, sourceTimeMs: scanned.sourceTimeMs, ...replyFacts(reply) };
}

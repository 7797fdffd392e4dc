/** `tidemark plan`: the cost of completing the tracked series and keeping them fresh. */

import { estimateCost } from '../../operations/estimate.ts';
import { banText, readBans, readOutages } from '../../operations/source-health.ts';
import { outageText } from '../../planning/source-outage.ts';
import { withContext } from '../../runtime/context.ts';
import { readSourceTexts, sourcesInUse } from '../../store/series/sources.ts';
import { seriesStatus } from '../../store/status/status.ts';
import { costJson, costText } from '../output/cost-report.ts';
import { printText } from '../output/table.ts';

export async function run(options: { json?: true }): Promise<void> {
  await withContext({ command: 'plan', needsDatabase: true }, async (context) => {
    const nowMs = context.clock.now();
    const { graceMs } = context.config.worker;
    const tracked = await seriesStatus(context.database, { nowMs, graceMs });
    const cost = await estimateCost(context, tracked, [], nowMs);
    if (options.json) console.log(JSON.stringify(costJson(cost), null, 2));
    else {
      const nameOf = await readSourceTexts(context.database, nowMs);
      for (const outage of await readOutages(context, nowMs))
        printText(`${outageText(outage, nowMs, nameOf(outage.source))}\n`);
      const bans = await readBans(context, await sourcesInUse(context.database), nowMs);
      for (const [source, untilMs] of bans) printText(`${banText(source, untilMs, nameOf(source))}\n`);
      printText(costText(cost));
    }
  });
}

/** The figures of the overview, each with the list behind it. */

import { nonEmpty } from '../../../model/format.ts';
import { sourceText } from '../../../model/sources.ts';
import { pausesText } from '../../../planning/progress.ts';
import type { SeriesLine, Summary } from '../../shapes.ts';
import { counted, formatCount, formatDuration } from '../parts/format.ts';
import { hrefOf } from '../state/address.ts';
import { isComplete, isFailing, isLate } from '../state/model.ts';
import { type SourceCondition, sourceTrouble } from './progress.ts';

const problemsHref = hrefOf({ view: 'problems' });

export function Tiles({ lines, summary }: { lines: readonly SeriesLine[]; summary: Summary }) {
  const furthestMs = lines.reduce((most, { behindMs }) => Math.max(most, behindMs), 0);
  const behind = lines.filter(isLate).length;
  const late = `${formatCount(behind)}, ${behind === 1 ? '' : 'the latest '}by ${formatDuration(furthestMs)}`;
  const failing = lines.filter(isFailing).length;
  const complete = lines.filter(isComplete).length;
  const { rejected, queue, serviceMessage } = summary;
  const revised = lines.reduce((total, line) => total + line.revised, 0);
  return (
    <dl class="tiles">
      <Tile title="Series" href={`${hrefOf({})}#series`}>
        {`${formatCount(lines.length)}, ${formatCount(complete)} complete`}
      </Tile>
      <Tile title="Late" href={`${hrefOf({ filter: 'behind' })}#series`} isBad={furthestMs > 0}>
        {furthestMs === 0 ? 'none' : late}
      </Tile>
      <Tile title="Failing" href={`${problemsHref}#part-failing`} isBad={failing > 0}>
        {failing === 0 ? 'none' : formatCount(failing)}
      </Tile>
      {/* The quarantine also keeps the rows of periods that have a point by now. */}
      <Tile title="Rejected rows" href={`${problemsHref}#part-quarantine`} isBad={rejected > 0}>
        {`${rejected > 0 ? formatCount(rejected) : 'none'} without a point`}
      </Tile>
      <Tile title="Revised" href={`${problemsHref}#part-revisions`}>
        {revised === 0 ? 'none' : counted(revised, 'value')}
      </Tile>
      <Tile title="Queue" href={`${hrefOf({})}#budget`} isBad={queue === null || queue.workers === 0}>
        {queueWords(queue)}
      </Tile>
      <Tile
        title="Source"
        href={`${problemsHref}#part-failed-requests`}
        isBad={serviceMessage !== null || sourceTrouble(summary) !== null}
      >
        {sourceWords(summary)}
      </Tile>
    </dl>
  );
}

function Tile({
  title,
  href,
  isBad = false,
  children,
}: {
  title: string;
  href: string;
  isBad?: boolean;
  children: string;
}) {
  return (
    <div>
      <dt>
        <a href={href}>{title}</a>
      </dt>
      <dd data-fact={title} class={isBad ? 'bad' : ''}>
        {children}
      </dd>
    </div>
  );
}

/** The headline has the sentence. */
const sourceStates: Readonly<Record<SourceCondition, string>> = {
  source_away: 'away',
  source_notice: 'sends a message',
  source_refuses_key: 'refuses the key',
  banned: 'refuses requests',
  paused: 'paused',
  source_paused: 'paused',
};

function sourceWords(summary: Summary): string {
  const trouble = sourceTrouble(summary);
  if (trouble !== null) return `${ofSome(trouble.sources, summary.sources.length)}${sourceStates[trouble.kind]}`;
  return summary.serviceMessage === null ? 'normal' : sourceStates.source_notice;
}

/** @param all how many sources there are: of a single one the tile has the name. */
function ofSome(sources: readonly string[], all: number): string {
  if (sources.length === 0 || sources.length >= all) return '';
  const names = sources.map((source) => sourceText(source, true));
  return `${names.length > 2 ? `${names.length} of ${all} sources` : names.join(' and ')} `;
}

function queueWords(queue: Summary['queue']): string {
  if (queue === null) return 'unavailable';
  return nonEmpty([
    `${formatCount(queue.waiting)} queued`,
    `${formatCount(queue.active)} active`,
    counted(queue.workers, 'worker'),
    pausesText(queue.pauses),
  ]).join(', ');
}

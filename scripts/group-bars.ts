/** A bar for each group of series. */

import type { Group } from './series-groups.ts';
import { bar } from './terminal/bar.ts';
import { fitted, type Line, widthOf } from './terminal/lines.ts';
import type { Space } from './terminal/terminal.ts';
import { count, percent } from './wording.ts';

const shareWidth = 8;
/** Names come first: a short bar still tells, and a short name may not. */
const leastBar = 10;
const longestBar = 40;
/** Below this there is no room to say how many windows are left. */
const roomy = 60;

/** Lines of at most `columns - 1`. */
export function groupBars(groups: readonly Group[], { columns, glyphs }: Space): readonly Line[] {
  const width = columns - 1;
  const rests = groups.map(restOf);
  const restWidth = width < roomy ? 0 : 1 + widest(rests);
  const room = Math.max(2, width - shareWidth - restWidth - 2);
  const mostName = Math.max(1, room - leastBar);
  const whole = groups.map(({ name }) => name);
  const names = widest(whole) <= mostName ? whole : groups.map(({ brief }) => brief);
  const nameWidth = Math.min(widest(names), mostName);
  const barWidth = Math.min(longestBar, room - nameWidth);
  return groups.map((group, index) => {
    const isWhole = group.doneMs >= group.wantedMs;
    const share = percent(group.doneMs, group.wantedMs).padStart(shareWidth);
    return [
      { text: `${fitted(names[index] ?? '', nameWidth, glyphs.more)} ` },
      ...bar(group.doneMs, group.wantedMs, barWidth, glyphs),
      { text: ` ${share}`, ...(isWhole ? { style: 'green' } : {}) },
      { text: restWidth === 0 ? '' : ` ${rests[index] ?? ''}`, style: 'dim' },
    ];
  });
}

/** What is neither done nor to be asked for now waits: for its second answer, or for a failure to be over. */
function restOf({ doneMs, wantedMs, windowsLeft }: Group): string {
  if (windowsLeft > 0) return `${count(windowsLeft)} left`;
  return doneMs >= wantedMs ? 'done' : 'waits';
}

function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, widthOf(text)), 0);
}

import { existsSync, readFileSync } from 'node:fs';

const status = '/proc/self/status';

/**
 * The largest resident set of this process so far, in KiB. On Linux `resourceUsage().maxRSS` of a process that another
 * one has started is at least the largest of that one: the kernel keeps it when a program replaces another.
 */
export function peakMemoryKib(): number {
  const peak = existsSync(status) ? /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(status, 'utf8')) : null;
  return peak === null ? process.resourceUsage().maxRSS : Number(peak[1]);
}

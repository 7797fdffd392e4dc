/** How times, lengths, counts and shares are written, as the command line writes them. */

const dayMs = 86_400_000;
const units = [
  [365 * dayMs, 'y'],
  [dayMs, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** `2024-01-31 06:00Z`, without what is zero: `2024-01-31`. */
export function moment(timeMs: number): string {
  const text = new Date(timeMs).toISOString();
  if (timeMs % dayMs === 0) return text.slice(0, 10);
  return `${text.slice(0, timeMs % 60_000 === 0 ? 16 : 19).replace('T', ' ')}Z`;
}

/** The two largest units: `3 d 4 h`, `12 min`, `8 s`. */
export function duration(ms: number): string {
  const first = units.findIndex(([length]) => ms >= length);
  if (first === -1) return '0 s';
  const parts: string[] = [];
  let rest = ms;
  for (const [length, unit] of units.slice(first, first + 2)) {
    const whole = Math.floor(rest / length);
    rest -= whole * length;
    if (whole > 0) parts.push(`${whole} ${unit}`);
  }
  return parts.join(' ');
}

/** How long ago, to the unit that matters: it is written anew every second. */
export function age(ms: number): string {
  const [length, unit] = units.find(([unitMs]) => ms >= unitMs) ?? [1000, 's'];
  return `${Math.max(0, Math.floor(ms / length))} ${unit}`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 window`, `2 windows`. */
export function counted(value: number, thing: string): string {
  return `${count(value)} ${thing}${value === 1 ? '' : 's'}`;
}

/** How much of what is wanted is covered; of a series of which no period is wanted yet: since when one is. */
export function coverage(
  { coveredMs, wantedMs, fromMs }: { coveredMs: number; wantedMs: number; fromMs: number },
  nowMs: number,
): string {
  if (wantedMs > 0) return `${percent(coveredMs, wantedMs)} covered`;
  return fromMs > nowMs ? `wanted from ${moment(fromMs)} on` : 'no period has closed yet';
}

/** In percent; 100 only when it is whole. */
export function percent(part: number, whole: number): string {
  if (whole <= 0 || part >= whole) return '100 %';
  return `${(Math.floor((part / whole) * 10_000) / 100).toFixed(2)} %`;
}

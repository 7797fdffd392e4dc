/** Formats times, durations, counts and shares like the command line. */

const dayMs = 86_400_000;
const units = [
  [365 * dayMs, 'y'],
  [dayMs, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
] as const;

/** `2024-01-31 06:00Z`; midnight is `2024-01-31`. */
export function formatTime(timeMs: number): string {
  const text = new Date(timeMs).toISOString();
  if (timeMs % dayMs === 0) return text.slice(0, 10);
  return `${text.slice(0, timeMs % 60_000 === 0 ? 16 : 19).replace('T', ' ')}Z`;
}

/** The two largest units: `3 d 4 h`, `12 min`, `8 s`. */
export function formatDuration(ms: number): string {
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

/** An age in its largest unit. */
export function formatAge(ms: number): string {
  const [length, unit] = units.find(([unitMs]) => ms >= unitMs) ?? [1000, 's'];
  return `${Math.max(0, Math.floor(ms / length))} ${unit}`;
}

export function formatCount(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 window`, `2 windows`. */
export function formatQuantity(value: number, thing: string): string {
  return `${formatCount(value)} ${thing}${value === 1 ? '' : 's'}`;
}

/** The covered share of a series, or why there is none yet. */
export function describeCoverage(
  { coveredMs, wantedMs, fromMs }: { coveredMs: number; wantedMs: number; fromMs: number },
  nowMs: number,
): string {
  if (wantedMs > 0) return `${formatPercent(coveredMs, wantedMs)} covered`;
  return fromMs > nowMs ? `tracked from ${formatTime(fromMs)} onward` : 'no period has closed yet';
}

/** A percentage, rounded down: 100 means complete. */
export function formatPercent(part: number, whole: number): string {
  if (whole <= 0 || part >= whole) return '100 %';
  return `${(Math.floor((part / whole) * 10_000) / 100).toFixed(2)} %`;
}

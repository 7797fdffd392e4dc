export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** Without lines of progress, which depend on the machine. */
  readonly stderr: string;
  readonly progress: string;
}

/** Lines that say what a command does, and how far it is. */
const progressLine =
  /^(?:\[synthetic\] )?(?:tidemark: .* so far|(?:backfill|verify|repair|import|export|lake|check|moving):? [^\n]*|waiting until [^\n]*)\n/gm;

export function endedWith(exitCode: number | null, stdout: string, stderr: string): Ended {
  const progress = stderr.match(progressLine)?.join('') ?? '';
  return { exitCode, stdout, stderr: stderr.replace(progressLine, ''), progress };
}

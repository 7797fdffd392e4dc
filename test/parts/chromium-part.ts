/** The Chromium for a test run, and where it comes from. */

import { execFileSync } from 'node:child_process';

export interface ChromiumPart {
  readonly path: string;
  readonly version: string;
  readonly how: string;
}

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The first of TEST_CHROMIUM and an installed Chromium or Chrome, or the reason why there is none. */
export function obtainChromium(): ChromiumPart | string {
  const given = process.env.TEST_CHROMIUM;
  if (given) return { path: given, version: versionOf(given), how: 'TEST_CHROMIUM' };
  for (const name of names) {
    try {
      const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
      return { path, version: versionOf(path), how: path };
    } catch {
      // not installed, or does not run
    }
  }
  return 'no Chromium is installed';
}

function versionOf(path: string): string {
  const said = execFileSync(path, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return /^(?:Google )?(?:Chromium|Chrome) [\d.]+/.exec(said.trim())?.[0] ?? 'Chromium of unknown version';
}

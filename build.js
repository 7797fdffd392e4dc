// Compiles the sources to dist/. `npm ci` runs this through `prepare`, so that `npx tidemark` works
// straight after it; an install without development dependencies has no compiler and keeps what is there.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, rmSync } from 'node:fs';

const compiler = 'node_modules/typescript/bin/tsc';
if (existsSync(compiler)) {
  rmSync('dist', { recursive: true, force: true });
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { stdio: 'inherit' });
  chmodSync('dist/scripts/tidemark.js', 0o755);
}

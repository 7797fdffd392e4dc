#!/usr/bin/env node
/** The entry of the command line. It imports nothing before the check: an older Node cannot read the rest. */

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major > 20 || (major === 20 && minor >= 19)) {
  // Rows leave objects that live shortly. The space for new ones would grow to 48 MB, in part while this is loaded.
  if (/^(?:lake|import)$/.test(process.argv[2] ?? ''))
    (await import('node:v8')).setFlagsFromString('--semi-space-growth-factor=1');
  await import('./main.ts');
} else {
  process.exitCode = 2;
  console.error(`tidemark: this is Node ${process.versions.node}; Tidemark needs Node 20.19 or newer`);
}

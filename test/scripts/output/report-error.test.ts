import { describe, expect, it } from 'vitest';
import { describeMissing } from '../../parts/describe-needing.ts';
import { inTerminal, noPseudoTerminal } from '../../parts/pseudo-terminal.ts';
import { program, start } from '../command.ts';

const title = 'an error';

function body() {
  it('breaks between words on a terminal, and is one line elsewhere', async () => {
    const session = await inTerminal([process.execPath, program, 'status'], {}, { columns: 50, rows: 24 });
    expect(await session.ended).toBe(5);
    const lines = session.output().trimEnd().split(/\r?\n/);
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(50);
    expect(lines[0]).toMatch(/^tidemark: NO_DATABASE: /);
    expect(lines.join(' ').replaceAll(/\s+/g, ' ')).toContain(
      '`tidemark run` or `tidemark backfill` makes one here',
    );
    const piped = await start(['status'], {}).ended;
    expect(piped.stderr).toMatch(/^tidemark: NO_DATABASE: [^\n]+\n$/);
  });
}

const missing = noPseudoTerminal();
if (missing === '') describe(title, body);
else describeMissing(title, missing, body);

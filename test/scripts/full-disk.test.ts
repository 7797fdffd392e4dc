import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../simulator/start.ts';
import { describeWithSmallDisk, mountSmallDisk } from '../parts/small-disk.ts';
import { market, tidemark } from './command.ts';

describeWithSmallDisk('the disk of the embedded database fills up during a backfill', () => {
  it('stops with one line before the disk is full, loses nothing, and resumes', async () => {
    const simulator = await startSimulator({ perMinute: null });
    onTestFinished(() => simulator.close());
    const disk = mountSmallDisk(150);
    const env = { TIDEMARK_DIR: join(disk, 'data'), SOURCE_URL: simulator.url, SOURCE_REQUESTS_PER_MINUTE: '0' };
    const year = ['--from', '2023-01-01', '--to', '2024-01-01'];
    const backfill = ['backfill', 'candles', ...market, '--interval', 'm1', ...year];
    const full = await tidemark(backfill, env);
    expect(full.stderr).toMatch(/^tidemark: DATABASE_FULL: .+; free disk space.*\n$/);
    expect(full.exitCode).toBe(5);
    const served = simulator.requests().total;

    const status = await tidemark(['status', '--json'], env);
    expect(status.exitCode).toBe(0);
    const [series] = JSON.parse(status.stdout).series;
    expect(series.points).toBeGreaterThan(0);
    expect(series.missingSeconds).toBeGreaterThan(0);

    execFileSync('mount', ['-o', 'remount,size=400m', disk]);
    const resumed = await tidemark(backfill, env);
    expect(resumed.stderr).toBe('');
    expect(resumed.exitCode).toBe(0);
    expect(JSON.parse((await tidemark(['gaps', '--json'], env)).stdout)).toEqual({
      sourceOutage: null,
      sourceOutages: [],
      gaps: [],
      quarantined: [],
    });
    // What was stored before was not asked for again; what was under way then may have been.
    expect(simulator.requests().total - served).toBeLessThan(365 - served + 40);
  });
});

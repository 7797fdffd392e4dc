/** `tidemark complete SHELL`: completion of commands, options and series for bash, zsh, fish and PowerShell. */

import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { readConfig } from '../../config.ts';
import { loadEnvFile } from '../../runtime/context.ts';
import { openDatabase } from '../../store/db/database.ts';
import { listSeriesNames } from '../../store/series/series-history.ts';

/** Their arguments are series. */
const ofSeries = ['why', 'verify', 'repair', 'untrack'];

/** Completes the commands that the program has by now. @param called the command whose arguments are completed. */
export async function completeCommand(program: Command, called: string | undefined): Promise<void> {
  const root = tab(program);
  const series = root.commands.get(called ?? '')?.arguments.get('series');
  if (series === undefined || !ofSeries.includes(called ?? '')) return;
  const names = await trackedNames();
  series.handler = (complete) => {
    for (const { id, name } of names) complete(String(id), name);
  };
}

/**
 * Empty without a database that answers at once; the embedded one is not started for it. No error is reported: the user is
 * typing a command.
 */
async function trackedNames(): Promise<{ readonly id: number; readonly name: string }[]> {
  try {
    loadEnvFile();
    const { url } = readConfig(process.env).database;
    if (url === undefined) return [];
    const database = openDatabase({
      url,
      applicationName: 'tidemark complete',
      maxConnections: 1,
      statementTimeoutMs: 1000,
    });
    try {
      return await listSeriesNames(database);
    } finally {
      await database.close();
    }
  } catch {
    return [];
  }
}

/**
 * Settings of the migrating role in this database: of its own sessions, such as a psql of the owner, and of
 * TimescaleDB's jobs, which run as the owner.
 */

import type pg from 'pg';
import { inLockedTransaction } from '../store/db/locked-transaction.ts';
import { type PlannerSetting, plannerSettings } from '../store/db/planner-settings.ts';

export const roleSettings: readonly PlannerSetting[] = [
  ...plannerSettings,
  // Rows of a batch of the columnstore. A column of 1,000 candles fills the pages of TOAST badly: with 3,000 a candle
  // takes a tenth less (22.9 and 20.7 bytes), and queries take as long. Changing an old point takes 8 ms instead of 3.
  { name: 'timescaledb.compression_batch_size_limit', from: '1000', value: '3000' },
];

/** Settings of the role in this database, as rows `name=value`. */
const ownSettings = `
  select setting from pg_db_role_setting s, unnest(s.setconfig) setting
  where s.setrole = (select oid from pg_roles where rolname = current_user)
    and s.setdatabase = (select oid from pg_database where datname = current_database())`;

/** Leaves settings of this role and database as they are. A setting that the server does not have is left out. */
export async function addRoleSettings(client: pg.ClientBase): Promise<void> {
  await changeSettings(client, ({ name, from, value }) => ({
    condition: `current_setting('${name}', true) = '${from}'
                and not exists (${ownSettings} and setting like '${name}=%')`,
    change: `set ${name} = ${value}`,
  }));
}

/** Undoes {@link addRoleSettings}. */
export async function removeRoleSettings(client: pg.ClientBase): Promise<void> {
  await changeSettings(client, ({ name, value }) => ({
    condition: `exists (${ownSettings} and setting = '${name}=${value}')`,
    change: `reset ${name}`,
  }));
}

async function changeSettings(
  client: pg.ClientBase,
  changeOf: (setting: PlannerSetting) => { readonly condition: string; readonly change: string },
): Promise<void> {
  await inLockedTransaction(client, 'role settings', async () => {
    for (const setting of roleSettings) {
      const { condition, change } = changeOf(setting);
      await client.query(`do $$ begin if ${condition} then
        execute format('alter role %I in database %I ${change}', current_user, current_database());
      end if; end $$`);
    }
  });
}

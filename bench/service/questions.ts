/** The HTTP requests, and the service's statement for each, for pgbench. */

import pg from 'pg';
import { storedMarketData } from '../../service/queries/series.ts';
import type { Loaded } from './load.ts';

export interface Question {
  readonly name: string;
  /** The path below the base URL. */
  readonly path: string;
  /** A script of pgbench with the same statement. */
  readonly script: string;
  /** Its parameters, by their names in the script. */
  readonly parameters: Readonly<Record<string, string>>;
}

interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

export async function questionsOn(url: string, { series, range, asset, nowMs }: Loaded): Promise<Question[]> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const seen: Statement[] = [];
  const recording = new Proxy(pool, {
    get: (target, name) =>
      name === 'query'
        ? (statement: Statement, ...rest: unknown[]) => {
            if (typeof statement === 'object') seen.push(statement);
            return Reflect.apply(target.query, target, [statement, ...rest]);
          }
        : Reflect.get(target, name),
  });
  try {
    const data = storedMarketData(recording);
    const { exchange, baseId, quoteId, interval } = series;
    const ask = async (name: string, path: string, answer: () => Promise<unknown>): Promise<Question> => {
      seen.length = 0;
      await answer();
      const [statement] = seen;
      if (statement === undefined || seen.length > 1) throw new Error(`${name} is not one statement`);
      return { name, path, ...scriptOf(statement) };
    };
    const market = `exchange=${exchange}&baseId=${baseId}&quoteId=${quoteId}&interval=${interval}`;
    return [
      await ask('1,000 candles', `/candles?${market}&start=${range.startMs}&end=${range.endMs}`, () =>
        data.candles(series, range, nowMs),
      ),
      await ask('/assets?limit=100', '/assets?limit=100', () => data.assets({ limit: 100, offset: 0 })),
      await ask('one asset', `/assets/${asset}`, () => data.asset(asset)),
    ];
  } finally {
    await pool.end();
  }
}

/** pgbench has no nulls, so the statement contains them. */
function scriptOf({ text, values }: Statement): Pick<Question, 'script' | 'parameters'> {
  const parameters: Record<string, string> = {};
  const script = text.replaceAll(/\$(\d+)/g, (_, digits: string) => {
    const value = values[Number(digits) - 1];
    if (value === null || value === undefined) return 'null';
    parameters[`p${digits}`] = String(value);
    return `:p${digits}`;
  });
  return { script: `${script};\n`, parameters };
}

/** The dashboards as Grafana reads them, with its macros and variables expanded. */

import { readFileSync } from 'node:fs';

interface Target {
  readonly datasource: { readonly uid: string };
  readonly expr?: string;
  readonly rawSql?: string;
}

interface Dashboard {
  readonly uid: string;
  readonly panels: ReadonlyArray<{
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly maxDataPoints?: number;
    readonly targets?: readonly Target[];
  }>;
  readonly templating: { readonly list: ReadonlyArray<{ readonly name: string; readonly query: string }> };
}

/** The pixels of a panel, which Grafana takes for a panel without a number of its own. */
const widestScreen = 3840;

export const dashboards = ['operations', 'market-data'].map(
  (name): Dashboard => JSON.parse(readFileSync(`deploy/grafana/dashboards/${name}.json`, 'utf8')),
);

/** Every query of a kind, with its panel's title, and the most points of the panel. */
export function queries(kind: 'expr' | 'rawSql'): Array<{ title: string; query: string; points: number }> {
  return dashboards.flatMap(({ panels }) =>
    panels.flatMap(({ title, maxDataPoints: points = widestScreen, targets = [] }) =>
      targets.flatMap((target) => {
        const query = target[kind];
        return query === undefined ? [] : [{ title, query, points }];
      }),
    ),
  );
}

/** What a panel shows, and with how many points at most, from which Grafana computes the length of a step. */
export interface Shown {
  readonly fromMs: number;
  readonly toMs: number;
  readonly points: number;
}

const aWeek: Shown = { fromMs: Date.UTC(2024, 2, 1), toMs: Date.UTC(2024, 2, 8), points: 168 };

/** @throws Error for a macro or variable of Grafana that is unknown here. */
export function writtenOut(
  query: string,
  variables: Readonly<Record<string, string | readonly string[]>> = {},
  { fromMs, toMs, points }: Shown = aWeek,
): string {
  const [from, to] = [fromMs, toMs].map((timeMs) => `'${new Date(timeMs).toISOString()}'`);
  const stepMs = Math.max(1, Math.round((toMs - fromMs) / points));
  const text = query
    .replace(/\$__timeFilter\(([\w.]+)\)/g, `$1 BETWEEN ${from} AND ${to}`)
    .replace(/\$__timeFrom\(\)/g, `${from}`)
    .replace(/\$__timeTo\(\)/g, `${to}`)
    .replace(
      /\$__timeGroupAlias\(([\w.]+), ?\$__interval\)/g,
      `floor(extract(epoch from $1)/${stepMs / 1000})*${stepMs / 1000} AS "time"`,
    )
    .replace(/\$__interval_ms/g, String(stepMs))
    .replace(/\$__rate_interval/g, '1m')
    .replace(/\$\{(\w+):sqlstring\}/g, (whole, name: string) => {
      const chosen = variables[name];
      if (chosen === undefined) return whole;
      return [chosen].flat().map(quoted).join(',');
    });
  if (text.includes('$')) throw new Error(`an unknown macro: ${text}`);
  return text;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

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
    readonly targets?: readonly Target[];
  }>;
  readonly templating: { readonly list: ReadonlyArray<{ readonly name: string; readonly query: string }> };
}

export const dashboards = ['operations', 'market-data'].map(
  (name): Dashboard => JSON.parse(readFileSync(`deploy/grafana/dashboards/${name}.json`, 'utf8')),
);

/** Every query of a kind, with its panel's title. */
export function queries(kind: 'expr' | 'rawSql'): Array<{ title: string; query: string }> {
  return dashboards.flatMap(({ panels }) =>
    panels.flatMap(({ title, targets = [] }) =>
      targets.flatMap((target) => {
        const query = target[kind];
        return query === undefined ? [] : [{ title, query }];
      }),
    ),
  );
}

/** @throws Error for a macro or variable of Grafana that is unknown here. */
export function writtenOut(query: string, variables: Readonly<Record<string, string>> = {}): string {
  const from = "'2024-03-01T00:00:00Z'";
  const to = "'2024-03-08T00:00:00Z'";
  const text = query
    .replace(/\$__timeFilter\(([\w.]+)\)/g, `$1 BETWEEN ${from} AND ${to}`)
    .replace(/\$__timeFrom\(\)/g, from)
    .replace(/\$__timeTo\(\)/g, to)
    .replace(
      /\$__timeGroupAlias\(([\w.]+), ?\$__interval\)/g,
      'floor(extract(epoch from $1)/3600)*3600 AS "time"',
    )
    .replace(/\$__rate_interval/g, '1m')
    .replace(/\$\{(\w+):sqlstring\}/g, (whole, name: string) =>
      variables[name] === undefined ? whole : `'${variables[name].replaceAll("'", "''")}'`,
    );
  if (text.includes('$')) throw new Error(`an unknown macro: ${text}`);
  return text;
}

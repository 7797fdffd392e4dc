/** The endpoints as both descriptions show them: those of the interface, and the points of each dataset. */

import { datasetNames } from '../../model/datasets/index.ts';
import { type EndpointContract, endpoints, pointEndpoints } from '../../v2/endpoints.ts';
import { type Endpoint, pointsPath, routes } from '../../v2/paths.ts';
import { type Example, examples } from './examples.ts';

export interface Described {
  readonly id: string;
  readonly contract: EndpointContract;
  /** Its own, and those of its other names. */
  readonly paths: readonly { readonly name: string; readonly path: string }[];
  /** Null: the world of the examples has no such points. */
  readonly example: Example | null;
}

export const described: readonly Described[] = [
  ...(Object.keys(endpoints) as Endpoint[]).map((id) => ({
    ...{ id, contract: endpoints[id], example: examples[id] },
    paths: routes.filter(({ endpoint }) => endpoint === id),
  })),
  ...datasetNames.map((dataset) => {
    const id = `points_${dataset}`;
    return { id, contract: pointEndpoints[dataset], paths: [{ name: id, path: pointsPath(dataset) }], example: null };
  }),
];

/** The path template in OpenAPI's notation. */
export function openApiPath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

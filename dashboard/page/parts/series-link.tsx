import { type Address, hrefOf } from '../state/address.ts';

export function SeriesLink({
  id,
  name,
  range = null,
}: {
  readonly id: number;
  readonly name: string;
  /** Of its chart, and to act on; null: the newest part. */
  readonly range?: Address['range'];
}) {
  return (
    <a href={`${hrefOf({ view: 'series', seriesId: id, range, chosen: range })}${range === null ? '' : '#chosen'}`}>
      {name}
    </a>
  );
}

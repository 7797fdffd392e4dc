/** Bytes on disk by dataset. */

import { formatBytes, formatPercent } from '../parts/format.ts';
import { LoadFailure } from '../parts/loaded-page.tsx';
import { Section, Table } from '../parts/table.tsx';
import { fetchStorage } from '../state/server.ts';
import { useLoaded } from '../state/use-model.ts';

export function Storage() {
  const [loaded] = useLoaded(fetchStorage, []);
  const stored = loaded.kind === 'loaded' ? loaded.value.filter(({ bytes }) => bytes > 0) : [];
  const inAll = stored.reduce((total, { bytes }) => total + bytes, 0);
  return (
    <Section id="storage" title="On disk">
      <LoadFailure of={loaded} />
      <Table
        caption={`${formatBytes(inAll)} with indexes, when the page was opened`}
        titles={['Dataset', 'Size', 'Share', 'In the columnstore']}
        rows={stored.map(({ dataset, bytes, compressed }) => [
          dataset,
          formatBytes(bytes),
          formatPercent(bytes, inAll),
          compressed === 0 ? 'nothing' : formatBytes(compressed),
        ])}
      />
    </Section>
  );
}

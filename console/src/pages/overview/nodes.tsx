import type { Document } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { ErrorNotice, NotAvailable } from '../../components/notice.tsx';
import { Time } from '../../components/time.tsx';
import { useFirstPage } from './overview-data.ts';

export function Nodes() {
  const { data, error, isLoading } = useFirstPage('/nodes', 'nodes', 'nodes:read');
  if (data === null && !isLoading && error === null) return null;
  return (
    <section class="card" aria-label="Nodes">
      <header>
        <h2>Nodes</h2>
      </header>
      {error !== null &&
        (error.isUnavailable ? <NotAvailable what="The list of nodes" /> : <ErrorNotice error={error} />)}
      <DataTable<Document>
        label="Nodes and their state"
        rows={data ?? []}
        isLoading={isLoading && data === null}
        rowKey={({ id }) => String(id)}
        columns={[
          { name: 'Name', cell: ({ name }) => <span dir="auto">{String(name)}</span> },
          {
            name: 'Status',
            class: 'col-narrow',
            cell: ({ status }) => (
              <Chip tone={status === 'ready' ? 'ok' : status === 'lost' ? 'danger' : 'warn'}>{String(status)}</Chip>
            ),
          },
          { name: 'Agents', class: 'number col-narrow', cell: ({ agents }) => String(agents) },
          { name: 'Version', class: 'middle', cell: ({ version }) => String(version) },
          { name: 'Started', class: 'low col-time', cell: ({ started_at }) => <Time at={started_at} /> },
        ]}
      />
    </section>
  );
}

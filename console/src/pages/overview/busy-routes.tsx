import { isAllowed } from '../../api/scopes.ts';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { milliseconds } from '../../format/amounts.ts';
import { type BusyRoute, useBusyRoutes } from './overview-data.ts';

const SHOWN = 8;

export function BusyRoutes() {
  const { data, error, isLoading } = useBusyRoutes();
  if (!isAllowed('series:read') || error !== null) return null;
  return (
    <section class="card" aria-label="Busiest routes of the last hour">
      <header>
        <h2>Busiest routes of the last hour</h2>
      </header>
      <DataTable<BusyRoute>
        label="Busiest routes of the last hour"
        rows={(data ?? []).slice(0, SHOWN)}
        isLoading={isLoading && data === null}
        rowKey={({ route, edge }) => route?.id ?? edge.id}
        columns={[
          {
            name: 'Route',
            class: 'col-wide',
            cell: ({ route, edge }) => <RefLink reference={route ?? edge} />,
          },
          { name: 'Requests', class: 'number', cell: ({ requests }) => requests.toLocaleString('en') },
          { name: 'Errors', class: 'number', cell: ({ errors }) => errors.toLocaleString('en') },
          {
            name: '95 %',
            class: 'number middle',
            cell: ({ p95_ms }) => (p95_ms === null ? '–' : milliseconds(p95_ms)),
          },
        ]}
        empty={
          <EmptyState title="No traffic yet">
            <p>Routes appear here with their first request.</p>
          </EmptyState>
        }
      />
    </section>
  );
}

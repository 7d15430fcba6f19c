import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { AddressLink } from '../../components/address-link.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PersonLink } from '../../components/person-link.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { Time } from '../../components/time.tsx';
import { href } from '../../router/location.ts';
import type { RequestRecord } from '../traffic/request-record.ts';

const EVERY_MS = 15_000;
const SHOWN = 6;
const LOOKED_AT = 100;

interface Visit {
  readonly last: RequestRecord;
  readonly requests: number;
}

/** The last visitors of the newest requests: each person or address once for each site. */
export function WhoCame() {
  const path = `/requests?limit=${LOOKED_AT}`;
  const loaded = useLoaded(
    path,
    async (abort) =>
      isAllowed('requests:read')
        ? visitsIn((await get<{ requests: readonly RequestRecord[] }>(path, abort)).requests)
        : [],
    EVERY_MS,
  );
  if (!isAllowed('requests:read')) return null;
  return (
    <section class="card" aria-label="Who came">
      <header>
        <h2>Who came</h2>
        <a class="push" href={href('/traffic')}>
          Live traffic
        </a>
      </header>
      <LoadedView loaded={loaded} what="The history of requests">
        {(visits) => (
          <DataTable<Visit>
            label="Visitors, latest first"
            rows={visits}
            rowKey={({ last }) => last.id}
            columns={[
              { name: 'Who', cell: ({ last }) => <Visitor request={last} /> },
              { name: 'Site', class: 'col-text', cell: ({ last }) => <RefLink reference={last.edge} /> },
              { name: 'Last', class: 'col-time', cell: ({ last }) => <Time at={last.at} /> },
            ]}
            empty={
              <EmptyState title="Nobody since the start of the server">
                <p>Visitors of your sites appear here, with their name if they logged in.</p>
              </EmptyState>
            }
          />
        )}
      </LoadedView>
    </section>
  );
}

function Visitor({ request: { user, user_kind: kind, client_address: address } }: { request: RequestRecord }) {
  if (user) return <PersonLink user={user} kind={kind} />;
  return <AddressLink address={address} />;
}

function visitsIn(requests: readonly RequestRecord[]): readonly Visit[] {
  const visits = new Map<string, Visit>();
  for (const request of requests) {
    if (request.edge === null) continue;
    const key = `${request.user ?? request.client_address} ${request.edge.id}`;
    const known = visits.get(key);
    visits.set(key, { last: known?.last ?? request, requests: (known?.requests ?? 0) + 1 });
  }
  return [...visits.values()].slice(0, SHOWN);
}

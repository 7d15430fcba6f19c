import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { StatusChip } from '../../components/chip.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { type Reference, RefLink } from '../../components/ref-link.tsx';
import { Time } from '../../components/time.tsx';
import { href } from '../../router/location.ts';
import { type RequestRecord, requestText } from '../traffic/request-record.ts';

const SHOWN = 10;

/** Where a person is logged in, and their last requests. */
export function PersonTraffic({ user }: { user: string }) {
  return (
    <>
      {isAllowed('app:read') && <Logins user={user} />}
      {isAllowed('requests:read') && <LastRequests user={user} />}
    </>
  );
}

/** The same for an account, which has another id where it logged in. */
export function AccountTraffic({ accountId }: { accountId: string }) {
  const loaded = useLoaded(`user of ${accountId}`, async (abort) => {
    const filter = encodeURIComponent(`obj.provider_user_id == ${JSON.stringify(accountId)}`);
    const page = await get<{ application_users: readonly { id: string }[] }>(`/app/users?filter=${filter}`, abort);
    return page.application_users[0]?.id ?? null;
  });
  if (!isAllowed('app:read') || loaded.data === null) return null;
  return <PersonTraffic user={loaded.data} />;
}

function Logins({ user }: { user: string }) {
  const loaded = useLoaded(`logins of ${user}`, async (abort) => {
    const filter = encodeURIComponent(`obj.application_user.id == ${JSON.stringify(user)}`);
    return get<{ application_sessions: readonly Document[] }>(`/app/sessions?limit=100&filter=${filter}`, abort);
  });
  return (
    <section class="stack-small" aria-label="Logged in at">
      <h2>Logged in at</h2>
      <LoadedView loaded={loaded} what="The list of logins">
        {({ application_sessions: logins }) => (
          <DataTable<Document>
            label="Logged in at"
            rows={logins}
            rowKey={({ id }) => String(id)}
            columns={[
              {
                name: 'Site',
                class: 'col-wide',
                cell: ({ edge, public_url }) =>
                  edge ? <RefLink reference={edge as Reference} /> : <span dir="auto">{String(public_url)}</span>,
              },
              { name: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
              { name: 'Last active', class: 'middle', cell: ({ last_active }) => <Time at={last_active} /> },
            ]}
            empty={
              <EmptyState title="Logged in nowhere now">
                <p>A login on a site appears here until it ends.</p>
              </EmptyState>
            }
          />
        )}
      </LoadedView>
    </section>
  );
}

function LastRequests({ user }: { user: string }) {
  const path = `/requests?limit=${SHOWN}&user=${encodeURIComponent(user)}`;
  const loaded = useLoaded(path, (abort) => get<{ requests: readonly RequestRecord[] }>(path, abort));
  return (
    <section class="stack-small" aria-label="Last requests">
      <h2 class="line">
        Last requests <a href={href(`/traffic?user=${encodeURIComponent(user)}`)}>All of them, live</a>
      </h2>
      <LoadedView loaded={loaded} what="The history of requests">
        {({ requests }) => <RequestTable label="Last requests" requests={requests} />}
      </LoadedView>
    </section>
  );
}

/** A few requests, on the page of a person or a site. */
export function RequestTable({ label, requests }: { label: string; requests: readonly RequestRecord[] }) {
  return (
    <DataTable<RequestRecord>
      label={label}
      rows={requests}
      rowKey={({ id }) => id}
      columns={[
        { name: 'When', class: 'col-time', cell: ({ at }) => <Time at={at} /> },
        { name: 'Status', class: 'col-status', cell: ({ status }) => <StatusChip status={status} /> },
        {
          name: 'Request',
          class: 'col-wide',
          cell: (record) => (
            <a class="mono" href={href(`/traffic/${encodeURIComponent(record.id)}`)}>
              {requestText(record)}
            </a>
          ),
        },
      ]}
      empty={
        <EmptyState title="No requests are kept">
          <p>The server keeps the newest requests of all sites. New ones appear under Live traffic as they end.</p>
        </EmptyState>
      }
    />
  );
}

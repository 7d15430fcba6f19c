import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { AddressLink } from '../../components/address-link.tsx';
import { BrowserName } from '../../components/browser-name.tsx';
import { StatusChip } from '../../components/chip.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PersonLink } from '../../components/person-link.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import type { Reference } from '../../schema/load-by-ids.ts';
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
  return (
    <>
      {isAllowed('app:read') && loaded.data !== null && <PersonTraffic user={loaded.data} />}
      {isAllowed('console:read') && <ConsoleLogins accountId={accountId} />}
    </>
  );
}

/** Few people log in to the console: the others have no empty list of it. */
function ConsoleLogins({ accountId }: { accountId: string }) {
  const loaded = useLoaded(`console of ${accountId}`, async (abort) => {
    const filter = encodeURIComponent(`obj.subject == ${JSON.stringify(accountId)}`);
    return get<{ console_sessions: readonly Document[] }>(`/console/sessions?limit=100&filter=${filter}`, abort);
  });
  const logins = loaded.data?.console_sessions ?? [];
  if (logins.length === 0) return null;
  return (
    <section class="stack-small" aria-label="Logged in to this console">
      <h2 class="line">
        Logged in to this console <a href={href('/sessions')}>All sessions</a>
      </h2>
      <DataTable<Document>
        label="Logins to this console"
        rows={logins}
        rowKey={({ id }) => String(id)}
        columns={[
          {
            name: 'From',
            cell: (row) => <BrowserName userAgent={textAt(row, 'user_agent')} address={textAt(row, 'address')} />,
          },
          { name: 'Role', cell: (row) => textAt(row, 'role') },
          { name: 'Since', class: 'col-time', cell: (row) => <Time at={row['created_at']} /> },
          { name: 'Last used', class: 'col-time', cell: (row) => <Time at={row['last_used_at']} /> },
        ]}
      />
    </section>
  );
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
            label="Logins at sites"
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
        {({ requests }) => <RequestTable label="Last requests of the person" requests={requests} hasPeople={false} />}
      </LoadedView>
    </section>
  );
}

interface RequestTableProps {
  readonly label: string;
  readonly requests: readonly RequestRecord[];
  /** False: they are all of one person. */
  readonly hasPeople: boolean;
}

/** A few requests, on the page of a person or a site. */
export function RequestTable({ label, requests, hasPeople }: RequestTableProps) {
  const person: Column<RequestRecord> = {
    name: 'Who',
    class: 'col-wide',
    cell: ({ user, user_kind: kind, client_address: address }) =>
      user ? <PersonLink user={user} kind={kind} /> : <AddressLink address={address} />,
  };
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
          isTitle: true,
          cell: (record) => (
            <a class="mono" href={href(`/traffic/${encodeURIComponent(record.id)}`)}>
              {requestText(record)}
            </a>
          ),
        },
        ...(hasPeople ? [person] : []),
      ]}
      empty={
        <EmptyState title="No requests are kept">
          <p>The server keeps the newest requests of all sites. New ones appear under Live traffic as they end.</p>
        </EmptyState>
      }
    />
  );
}

import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { StatusChip } from '../../components/chip.tsx';
import { Decisions } from '../../components/decisions.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { PersonLink } from '../../components/person-link.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { byteText, milliseconds } from '../../format/amounts.ts';
import { localTime } from '../../format/times.ts';
import { href } from '../../router/location.ts';
import { labelOf } from '../../schema/json-schema.ts';
import type { PageProps } from '../page-props.ts';
import { type RequestRecord, requestText, urlOf } from './request-record.ts';

export function RequestPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  const path = `/requests/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, (abort) => get<RequestRecord>(path, abort));
  const { data, error } = loaded;
  return (
    <>
      <PageHead
        title={data === null ? 'Request' : requestText(data)}
        hint={`Request ${id}`}
        crumbs={[['Live traffic', '/traffic']]}
      >
        {data !== null && data.host !== null && isAllowed('explain:read') && (
          <a class="button primary" href={href(`/explain?${explainQuery(data)}`)}>
            Explain
          </a>
        )}
      </PageHead>
      {error?.isNotFound === true ? (
        <div class="card">
          <EmptyState title="This request is not in the history">
            <p>
              The server keeps the newest requests in memory (setting request_history). An older one may have left it.
              Check the id: it is in the response header Postern-Request-Id.
            </p>
          </EmptyState>
        </div>
      ) : (
        <LoadedView loaded={loaded} what="This request">
          {(record) => <RequestView record={record} />}
        </LoadedView>
      )}
    </>
  );
}

function explainQuery(record: RequestRecord): string {
  const { method, client_address: address } = record;
  return new URLSearchParams({ url: urlOf(record), method: method ?? 'GET', address }).toString();
}

function Person({ record: { user, user_kind: kind } }: { record: RequestRecord }) {
  if (!user) return <>–</>;
  return (
    <span class="line">
      <PersonLink user={user} kind={kind} />
      <a href={href(`/traffic?user=${encodeURIComponent(user)}`)}>All their requests</a>
    </span>
  );
}

/** Of failures that have to do with the service behind a site: the owner can start it, or correct the site. */
const CAUSES: Readonly<Record<string, string>> = {
  ERR_POSTERN_UPSTREAM_UNREACHABLE: 'did not accept a connection. Start it, or change where the site goes',
  ERR_POSTERN_UPSTREAM_TIMEOUT: 'did not respond in time. Look at its log',
  ERR_POSTERN_UPSTREAM_BROKEN: 'ended the connection, or sent something that is no HTTP response. Look at its log',
  ERR_POSTERN_UPSTREAM_FULL: 'has as many requests as the server sends it at once. Wait, or make it faster',
};

function causeOf({ error_code: code, target }: RequestRecord): string | null {
  const cause = CAUSES[code ?? ''];
  return cause === undefined ? null : `The service${target ? ` at ${target}` : ''} ${cause}.`;
}

function RequestView({ record }: { record: RequestRecord }) {
  const wrong = causeOf(record);
  const timings = Object.entries(record.timings ?? {}).filter(([, value]) => typeof value === 'number');
  return (
    <div class="grid-2">
      <section class="card" aria-label="Request">
        <div class="body">
          <Facts
            rows={[
              ['Status', <StatusChip key="status" status={record.status} />],
              ...(record.error_code ? [['Error', <code key="error">{record.error_code}</code>] as const] : []),
              ...(wrong === null ? [] : [['Cause', wrong] as const]),
              ['When', localTime(record.at)],
              ['Site', <RefLink key="edge" reference={record.edge} />],
              ['Route', <RefLink key="route" reference={record.route} />],
              ['Client', record.client_address],
              ['Person', <Person key="person" record={record} />],
              ['User agent', record.user_agent ?? '–'],
              ['Target', record.target ?? '–'],
              ['Node', [record.node, record.tunnel_node].filter(Boolean).join(' → ') || '–'],
              ['Received', byteText(record.bytes_in)],
              ['Sent', byteText(record.bytes_out)],
            ]}
          />
        </div>
      </section>
      <div class="stack">
        <section class="card" aria-label="Decisions">
          <header>
            <h2>Decisions</h2>
          </header>
          <div class="body">
            <Decisions decisions={record.decisions} />
          </div>
        </section>
        <section class="card" aria-label="Timings">
          <header>
            <h2>Timings</h2>
          </header>
          <div class="body">
            <Facts
              rows={[
                ...timings.map(
                  ([name, value]) => [labelOf(name.replace(/_ms$/, '')), milliseconds(value ?? 0)] as const,
                ),
                ['Total', milliseconds(record.duration_ms)],
              ]}
            />
          </div>
        </section>
      </div>
    </div>
  );
}

import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../../api/request.ts';
import { type LiveMessage, useLive } from '../../api/use-live.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { StatusChip } from '../../components/chip.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LiveChip } from '../../components/live-chip.tsx';
import { ErrorNotice, NotAvailable, Notice } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { PersonLink } from '../../components/person-link.tsx';
import { milliseconds } from '../../format/amounts.ts';
import { submitted } from '../../format/text.ts';
import { clockTime } from '../../format/times.ts';
import { href, navigate, setQuery } from '../../router/location.ts';
import { type RequestRecord, refusalText, requestText } from './request-record.ts';
import { ChosenFilters, TrafficFilters, trafficSearch } from './traffic-filters.tsx';

const KEPT = 1_000;
/** Rows are added together: a thousand requests per second must not render a thousand times. */
const FLUSH_MS = 250;

interface Page {
  readonly requests: readonly RequestRecord[];
  readonly nodes?: readonly { readonly name: string; readonly answered: boolean }[];
}

export function TrafficPage() {
  const [isPaused, setPaused] = useState(false);
  const search = trafficSearch();
  const before = useLoaded(search, (abort) =>
    get<Page>(`/requests?limit=100${search === '' ? '' : `&${search}`}`, abort),
  );
  const [rows, state, missed] = useTail(before.data?.requests ?? null, search, isPaused);
  const silent = before.data?.nodes?.filter(({ answered }) => !answered) ?? [];
  return (
    <>
      <PageHead title="Live traffic" hint="Requests as they end, newest first, with what each module decided.">
        <LiveChip state={state} />
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </button>
      </PageHead>
      {before.error?.isUnavailable === true && <NotAvailable what="The history of requests" />}
      {before.error !== null && !before.error.isUnavailable && (
        <ErrorNotice error={before.error} retry={before.reload} />
      )}
      {silent.length > 0 && (
        <Notice tone="warn">These nodes did not answer: {silent.map(({ name }) => name).join(', ')}.</Notice>
      )}
      {missed > 0 && (
        <Notice>
          {missed.toLocaleString('en')} requests are not shown: they arrive faster than this view takes them. A filter
          helps.
        </Notice>
      )}
      <div class="filters">
        <TrafficFilters />
        <form
          class="field"
          onSubmit={(event) => {
            event.preventDefault();
            const id = submitted(event.currentTarget, 'id');
            if (id !== '') navigate(`/traffic/${encodeURIComponent(id)}`);
          }}
        >
          <label for="request-id">Open by request id (Enter)</label>
          <input id="request-id" name="id" spellcheck={false} placeholder="Postern-Request-Id" />
        </form>
      </div>
      <ChosenFilters />
      <DataTable
        label="Requests"
        columns={COLUMNS}
        rows={rows}
        rowKey={({ id }) => id}
        isLoading={before.isLoading && rows.length === 0}
        empty={
          search === '' ? (
            <EmptyState title="No requests since the start of the server">
              <p>Requests to your sites appear here as they end. Nothing is kept of their bodies.</p>
            </EmptyState>
          ) : (
            <EmptyState title="No kept request matches">
              <p>
                New ones that match appear here as they end. The server keeps the newest requests (request_history).
              </p>
              <button type="button" onClick={() => setQuery({ q: '', status: '', user: '', edge: '' })}>
                Show all requests
              </button>
            </EmptyState>
          )
        }
      />
    </>
  );
}

/** The kept requests, and those that arrive while the page is open. */
function useTail(kept: readonly RequestRecord[] | null, search: string, isPaused: boolean) {
  const [rows, setRows] = useState<readonly RequestRecord[]>([]);
  const [missed, setMissed] = useState(0);
  const waiting = useRef<RequestRecord[]>([]);
  useEffect(() => {
    if (kept !== null)
      setRows((old) =>
        merged(
          old.filter(({ id }) => !kept.some((each) => each.id === id)),
          kept,
        ),
      );
  }, [kept]);
  useEffect(() => {
    setRows([]);
    setMissed(0);
    waiting.current = [];
  }, [search]);
  const state = useLive(
    isPaused ? '' : `topics=requests${search === '' ? '' : `&${search}`}`,
    (message: LiveMessage) => {
      if (message.topic === 'missed') setMissed((old) => old + missedIn(message.data));
      if (message.topic === 'requests') waiting.current.push(message.data as RequestRecord);
      if (waiting.current.length > KEPT) waiting.current.splice(0, waiting.current.length - KEPT);
    },
  );
  useEffect(() => {
    const timer = setInterval(() => {
      if (waiting.current.length === 0) return;
      const arrived = waiting.current.reverse();
      waiting.current = [];
      setRows((old) => {
        const known = new Set(old.map(({ id }) => id));
        return merged(
          arrived.filter(({ id }) => !known.has(id)),
          old,
        );
      });
    }, FLUSH_MS);
    return () => clearInterval(timer);
  }, []);
  return [rows, state, missed] as const;
}

function missedIn(data: unknown): number {
  const { requests } = (data ?? {}) as { requests?: number };
  return requests ?? 0;
}

function merged(newer: readonly RequestRecord[], older: readonly RequestRecord[]): readonly RequestRecord[] {
  return [...newer, ...older].slice(0, KEPT);
}

/** Why the edge answered itself; the request's own page has the whole code. */
function Refusal({ record }: { record: RequestRecord }) {
  // Without a method, the request's text has the reason already.
  const text = record.method === null ? '' : refusalText(record);
  if (text === '') return null;
  return (
    <span class="hint" title={record.error_code ?? ''}>
      {text}
    </span>
  );
}

const COLUMNS: readonly Column<RequestRecord>[] = [
  { name: 'Time', class: 'col-narrow', cell: ({ at }) => <time dateTime={at}>{clockTime(at)}</time> },
  { name: 'Status', class: 'col-status', cell: ({ status }) => <StatusChip status={status} /> },
  {
    name: 'Request',
    isTitle: true,
    cell: (record) => (
      <span class="stack-none">
        <a class="mono" href={href(`/traffic/${encodeURIComponent(record.id)}`)}>
          {requestText(record)}
        </a>
        <Refusal record={record} />
      </span>
    ),
  },
  { name: 'Person', class: 'col-quarter', cell: ({ user, user_kind }) => <PersonLink user={user} kind={user_kind} /> },
  { name: 'Client', class: 'col-address', cell: ({ client_address }) => <span class="mono">{client_address}</span> },
  { name: 'Duration', class: 'number col-narrow', cell: ({ duration_ms }) => milliseconds(duration_ms) },
];

import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Chart } from '../../components/chart.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { href } from '../../router/location.ts';
import type { Series } from '../overview/overview-data.ts';
import { type Problem, ProblemRows } from '../overview/problems.tsx';
import { RequestTable } from '../people/person-traffic.tsx';
import type { RequestRecord } from '../traffic/request-record.ts';

const EVERY_MS = 15_000;
const SHOWN = 10;
const HOUR_MS = 3_600_000;

/** What is wrong with one site, of what the overview shows. */
export function SiteProblems({ edgeId }: { edgeId: string }) {
  const loaded = useLoaded(
    `problems of ${edgeId}`,
    async (abort) => {
      const { problems } = await get<{ problems: readonly Problem[] }>('/problems?limit=100', abort);
      return problems.filter(({ object }) => object?.uri.includes(edgeId) === true);
    },
    EVERY_MS,
  );
  const problems = loaded.data ?? [];
  if (problems.length === 0) return null;
  return (
    <section class="card" aria-label="Problems of the site">
      <header>
        <h2>Problems</h2>
      </header>
      <ProblemRows problems={problems} />
    </section>
  );
}

/** The last hour of the site, and its last requests. `routeId`: of "/". */
export function SiteTraffic({ edgeId, routeId }: { edgeId: string; routeId: string | null }) {
  const path = `/requests?limit=${SHOWN}&edge=${encodeURIComponent(edgeId)}`;
  const requests = useLoaded(
    path,
    async (abort) =>
      isAllowed('requests:read') ? (await get<{ requests: readonly RequestRecord[] }>(path, abort)).requests : null,
    EVERY_MS,
  );
  return (
    <>
      {routeId !== null && isAllowed('series:read') && <LastHour routeId={routeId} />}
      {isAllowed('requests:read') && (
        <section class="stack-small" aria-label="Last requests">
          <h2 class="line">
            Last requests <a href={href(`/traffic?edge=${encodeURIComponent(edgeId)}`)}>All of them, live</a>
          </h2>
          <LoadedView loaded={requests} what="The history of requests">
            {(found) => <RequestTable label="Last requests of the site" requests={found ?? []} hasPeople />}
          </LoadedView>
        </section>
      )}
    </>
  );
}

function LastHour({ routeId }: { routeId: string }) {
  const loaded = useLoaded(
    `series of ${routeId}`,
    (abort) => {
      const from = new Date(Math.floor(Date.now() / 60_000) * 60_000 - HOUR_MS).toISOString();
      return get<Series>(`/series?from=${encodeURIComponent(from)}&step=60&route=${routeId}`, abort);
    },
    EVERY_MS,
  );
  return (
    <section class="card" aria-label="Last hour of the site">
      <header>
        <h2>Last hour</h2>
      </header>
      <div class="body chart-body">
        <LoadedView loaded={loaded} what="The time series" lines={6}>
          {({ points }) => (
            <Chart
              label="Requests and errors per minute of the last hour"
              times={points.map(({ at }) => Date.parse(at) / 1000)}
              lines={[
                { name: 'requests per minute', color: '--accent', values: points.map(({ requests }) => requests) },
                { name: 'errors per minute', color: '--danger', values: points.map(({ errors }) => errors) },
              ]}
            />
          )}
        </LoadedView>
      </div>
    </section>
  );
}

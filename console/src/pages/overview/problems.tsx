import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Chip, type Tone } from '../../components/chip.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { type Reference, RefLink } from '../../components/ref-link.tsx';
import { Time } from '../../components/time.tsx';

const EVERY_MS = 30_000;
/** More would push the traffic out of sight. */
const SHOWN = 6;
const LIMIT = 100;
const TONES: Readonly<Record<string, Tone>> = { alert: 'danger', problem: 'danger', warning: 'warn' };
/** A check reports the same, with advice. */
const CHECKED_ALERTS = ['certificate_expiring', 'certificate_failing', 'node_lost'];

interface Problem {
  readonly severity: string;
  readonly message: string;
  readonly advice: string | null;
  readonly object: Reference | null;
}

interface Report {
  readonly problems: readonly Problem[];
  readonly checked_at: string;
  readonly more: number;
  readonly skipped_checks: readonly string[];
}

interface Alert extends Reference {
  readonly kind: string;
  readonly title: string;
}

/** What needs attention: raised alerts, and what the checks of the doctor find. */
export function Problems() {
  const report = useLoaded('problems', readReport, EVERY_MS);
  return (
    <section class="card" aria-label="Problems">
      <header>
        <h2>Problems</h2>
        {report.data !== null && (
          <span class="hint push">
            checked <Time at={report.data.checked_at} />
          </span>
        )}
      </header>
      <LoadedView loaded={report} what="The list of problems">
        {(data) => <ProblemList report={data} />}
      </LoadedView>
    </section>
  );
}

async function readReport(abort: AbortSignal): Promise<Report> {
  const [report, alerts] = await Promise.all([
    get<Report>(`/problems?limit=${LIMIT}`, abort),
    isAllowed('alerts:read') ? get<{ alerts: readonly Alert[] }>('/alerts?limit=100', abort) : { alerts: [] },
  ]);
  const raised = alerts.alerts
    .filter(({ kind }) => !CHECKED_ALERTS.includes(kind))
    .map((alert) => ({ severity: 'alert', message: alert.title, advice: null, object: alert }));
  return { ...report, problems: [...raised, ...report.problems] };
}

function ProblemList({ report: { problems, more, skipped_checks: skipped } }: { report: Report }) {
  const rest = problems.slice(SHOWN);
  return (
    <>
      {problems.length === 0 ? (
        <EmptyState title={skipped.length === 0 ? 'No problems found' : 'No problems in what you may read'}>
          <p>
            This page checks configuration, certificates, nodes and settings. To check names, handshakes and upstreams
            too, run <code>postern doctor</code> on the server.
          </p>
        </EmptyState>
      ) : (
        <Rows problems={problems.slice(0, SHOWN)} />
      )}
      {rest.length > 0 && (
        <details class="body">
          <summary>
            Show {rest.length} more{more > 0 && ` of ${(rest.length + more).toLocaleString('en')}`}
          </summary>
          <Rows problems={rest} />
        </details>
      )}
      {skipped.length > 0 && (
        <p class="body hint">Not checked, because your scopes do not allow it: {skipped.join(', ')}.</p>
      )}
    </>
  );
}

function Rows({ problems }: { problems: readonly Problem[] }) {
  return (
    <ul class="problems">
      {problems.map(({ severity, message, advice, object }) => (
        <li key={`${severity} ${message}`}>
          <Chip tone={TONES[severity] ?? 'plain'}>{severity}</Chip>
          <div>
            <span dir="auto">{message}</span>
            {advice !== null && (
              <span class="hint" dir="auto">
                {advice}
              </span>
            )}
            {object !== null && <RefLink reference={object} />}
          </div>
        </li>
      ))}
    </ul>
  );
}

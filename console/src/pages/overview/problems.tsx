import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { asApiError } from '../../api/api-error.ts';
import { get, request } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Chip, type Tone } from '../../components/chip.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import type { Reference } from '../../schema/load-by-ids.ts';

const EVERY_MS = 30_000;
/** More would push the traffic out of sight. */
const SHOWN = 6;
const LIMIT = 100;
const TONES: Readonly<Record<string, Tone>> = { problem: 'danger', warning: 'warn' };

export interface Problem {
  readonly severity: string;
  readonly check: string;
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

/** Counts what was dismissed: the page may be another one by the time of the answer. */
const dismissals = signal(0);

/** What needs attention: the list that `postern status` and `postern doctor` show too. */
export function Problems() {
  const report = useLoaded('problems', readReport, EVERY_MS);
  const dismissed = dismissals.value;
  const seen = useRef(dismissed);
  useEffect(() => {
    if (seen.current === dismissed) return;
    seen.current = dismissed;
    report.reload();
  }, [dismissed]);
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

function readReport(abort: AbortSignal): Promise<Report> {
  return get<Report>(`/problems?limit=${LIMIT}`, abort);
}

function ProblemList({ report: { problems, more, skipped_checks: skipped } }: { report: Report }) {
  const rest = problems.slice(SHOWN);
  return (
    <>
      {problems.length === 0 ? (
        <div class="body">
          <h3>{skipped.length === 0 ? 'No problems found' : 'No problems in what you may read'}</h3>
          <p class="hint">
            In configuration, certificates, nodes and settings. Sites whose requests fail are listed above.{' '}
            <code>postern doctor</code> on the server also checks names, handshakes and upstreams.
          </p>
        </div>
      ) : (
        <ProblemRows problems={problems.slice(0, SHOWN)} />
      )}
      {rest.length > 0 && (
        <details class="body">
          <summary>
            Show {rest.length} more{more > 0 && ` of ${(rest.length + more).toLocaleString('en')}`}
          </summary>
          <ProblemRows problems={rest} />
        </details>
      )}
      {skipped.length > 0 && (
        <p class="body hint">Not checked, because your scopes do not allow it: {skipped.join(', ')}.</p>
      )}
    </>
  );
}

export function ProblemRows({ problems }: { problems: readonly Problem[] }) {
  return (
    <ul class="problems">
      {problems.map(({ severity, check, message, advice, object }) => (
        <li key={`${severity} ${message}`}>
          <Chip tone={TONES[severity] ?? 'plain'}>{severity}</Chip>
          <div>
            <span dir="auto">{message}</span>
            {advice !== null && (
              <span class="hint" dir="auto">
                {advice}
              </span>
            )}
            {object !== null &&
              (check === 'alerts' ? <DismissAlert alert={object} message={message} /> : <RefLink reference={object} />)}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** An alert ends with its cause. Somebody who knows of it takes it out of the list until then. */
function DismissAlert({ alert, message }: { alert: Reference; message: string }) {
  if (!isAllowed('alerts:write')) return null;
  const dismiss = async (): Promise<void> => {
    try {
      await request('POST', `/alerts/${alert.id}/dismiss`);
      toast('The alert is dismissed. It comes back if its cause does.');
    } catch (error) {
      toast(asApiError(error).message, 'danger');
    }
    dismissals.value += 1;
  };
  return (
    <button type="button" class="small" aria-label={`Dismiss: ${message.slice(0, 80)}`} onClick={() => void dismiss()}>
      Dismiss
    </button>
  );
}

import { useState } from 'preact/hooks';
import { siteRoutePath } from '../../../../src/client/sites.ts';
import { type ApiError, asApiError } from '../../api/api-error.ts';
import { get, request } from '../../api/request.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { ErrorNotice, Notice } from '../../components/notice.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { Time } from '../../components/time.tsx';
import { submitted } from '../../format/text.ts';
import { AccessView } from '../../modules/access/access-view.tsx';
import type { Reference } from '../../schema/load-by-ids.ts';

interface Review {
  readonly people: readonly {
    readonly application_user: Reference;
    readonly email: string;
    readonly last_active: string;
    readonly allowed: boolean;
    readonly rule: string | null;
    readonly reason: string;
  }[];
  readonly is_truncated: boolean;
}

interface Verdict {
  readonly allowed: boolean;
  readonly rule: string | null;
  readonly message: string;
}

/** Everybody who was active on the edge, and any person one can describe, against the rules of a route. */
export function Rehearsal({ edgeId, routeId, config }: { edgeId: string; routeId: string; config: Document | null }) {
  const base = `${siteRoutePath(encodeURIComponent(edgeId), encodeURIComponent(routeId))}/access`;
  const review = useLoaded(base, (abort) => get<Review>(`${base}/review`, abort));
  return (
    <div class="grid-2">
      <section class="card" aria-label="Rules">
        <header>
          <h2>Rules and a test</h2>
        </header>
        <div class="body stack">
          {config !== null && <AccessView config={config} edgeId={edgeId} routeId={null} />}
          <PersonTest path={`${base}/test`} />
        </div>
      </section>
      <section class="card" aria-label="People of the last 30 days">
        <header>
          <h2>People of the last 30 days</h2>
        </header>
        <LoadedView loaded={review} what="The review of access rules">
          {({ people, is_truncated }) => (
            <>
              {is_truncated && (
                <Notice tone="warn">There are more than 10,000 people: only the latest are shown.</Notice>
              )}
              <DataTable
                label="People by what the rules decide"
                rows={people}
                rowKey={({ application_user }) => application_user.id}
                columns={[
                  {
                    name: 'Person',
                    class: 'col-wide',
                    cell: ({ application_user, email }) => (
                      <RefLink reference={application_user} name={email === '' ? application_user.id : email} />
                    ),
                  },
                  {
                    name: 'Passes',
                    class: 'col-narrow',
                    cell: ({ allowed }) => <Chip tone={allowed ? 'ok' : 'danger'}>{allowed ? 'yes' : 'no'}</Chip>,
                  },
                  { name: 'Rule', class: 'middle', cell: ({ rule, reason }) => rule ?? reason.replaceAll('_', ' ') },
                  { name: 'Last active', class: 'low col-time', cell: ({ last_active }) => <Time at={last_active} /> },
                ]}
                empty={
                  <EmptyState title="Nobody was active">
                    <p>People appear here after their first login on the edge.</p>
                  </EmptyState>
                }
              />
            </>
          )}
        </LoadedView>
      </section>
    </div>
  );
}

function PersonTest({ path }: { path: string }) {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const ask = async (form: HTMLFormElement): Promise<void> => {
    setError(null);
    try {
      const claims = submitted(form, 'claims');
      const body = {
        email: submitted(form, 'email'),
        ...(claims !== '' && { claims: JSON.parse(claims) as unknown }),
      };
      setVerdict((await request<Verdict>('POST', path, { body })).data);
    } catch (failure) {
      setVerdict(null);
      setError(asApiError(failure));
    }
  };
  return (
    <form
      class="stack-small"
      aria-label="Test a person"
      onSubmit={(event) => {
        event.preventDefault();
        void ask(event.currentTarget);
      }}
    >
      <div class="field">
        <label for="test-email">Would this person pass? (e-mail)</label>
        <input id="test-email" name="email" placeholder="ana@example.com" />
      </div>
      <div class="field">
        <label for="test-claims">Claims (JSON)</label>
        <input id="test-claims" name="claims" class="mono" placeholder={'{"groups": ["ops"]}'} spellcheck={false} />
      </div>
      <div>
        <button type="submit">Test</button>
      </div>
      <div aria-live="polite">
        {error !== null && <ErrorNotice error={error} />}
        {verdict !== null && (
          <p class="line">
            <Chip tone={verdict.allowed ? 'ok' : 'danger'}>{verdict.allowed ? 'passes' : 'is refused'}</Chip>
            {verdict.message}
          </p>
        )}
      </div>
    </form>
  );
}

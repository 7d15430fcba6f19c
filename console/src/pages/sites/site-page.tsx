import { useState } from 'preact/hooks';
import { type SiteEdge, siteEdgePath } from '../../../../src/client/sites.ts';
import { type Answer, request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { counted } from '../../format/amounts.ts';
import { href } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import type { PageProps } from '../page-props.ts';
import type { ServerFacts } from '../publish/draft.ts';
import { loadFacts } from '../publish/publish-request.ts';
import { rootRoute } from './draft-of-site.ts';
import { entryOf } from './entry-text.ts';
import { CertificateOf } from './site-certificate.tsx';
import { EntryChange, HostChange, TargetChange } from './site-changes.tsx';
import { Targets } from './site-columns.tsx';
import { backendsOf, HealthChip, healthOf, isPaused } from './site-health.tsx';
import { PauseChange, RemoveChange, ResumeChange } from './site-pause.tsx';
import { type SiteSaved, SiteSavedView } from './site-saved-view.tsx';
import { SiteProblems, SiteTraffic } from './site-traffic.tsx';
import { useDocuments } from './use-documents.ts';
import { useSiteFigures } from './use-site-figures.ts';

/** One site, with the jobs that people have: another host, another target, other people. */
export function SitePage({ params }: PageProps) {
  const id = params['edge_id'] ?? '';
  const path = siteEdgePath(encodeURIComponent(id));
  const loaded = useLoaded(path, async (abort) => {
    const [answer, facts] = await Promise.all([request<SiteEdge>('GET', path, { abort }), loadFacts()]);
    return { answer, facts };
  });
  const [removed, setRemoved] = useState('');
  const isRemoved = removed === id;
  const title = loaded.data === null ? 'Site' : documentName(documentOf(loaded.data.answer));
  return (
    <>
      <PageHead title={title} crumbs={[['Sites', '/sites']]}>
        {!isRemoved && (
          <a class="button" href={href(`/edges/${id}`)}>
            Routes and modules
          </a>
        )}
      </PageHead>
      <LoadedView loaded={loaded} what="This site">
        {({ answer, facts }) => (
          <SiteView
            key={id}
            answer={answer}
            facts={facts}
            isRemoved={isRemoved}
            setRemoved={(isNow) => setRemoved(isNow ? id : '')}
            reload={loaded.reload}
          />
        )}
      </LoadedView>
    </>
  );
}

function documentOf({ data }: Answer<SiteEdge>): Document {
  return data as unknown as Document;
}

type Part = 'host' | 'target' | 'entry' | 'pause' | 'remove';

interface SiteViewProps {
  readonly answer: Answer<SiteEdge>;
  readonly facts: ServerFacts;
  readonly isRemoved: boolean;
  readonly setRemoved: (isRemoved: boolean) => void;
  readonly reload: () => void;
}

function SiteView({ answer, facts, isRemoved, setRemoved, reload }: SiteViewProps) {
  const [part, setPart] = useState<Part | null>(null);
  const [saved, setSaved] = useState<SiteSaved | null>(null);
  const edge = documentOf(answer);
  const backends = useDocuments(backendsOf(edge), 0);
  const figures = useSiteFigures();
  const [target] = backendsOf(edge);
  const common = {
    answer,
    facts,
    onCancel: () => setPart(null),
    onSaved: (next: SiteSaved) => {
      setSaved(next);
      setPart(null);
      if (part === 'remove') setRemoved(true);
      else reload();
    },
  };
  const change = (which: Part, what: string) =>
    areAllowed(['edges:write']) && (
      <button type="button" class="small" aria-expanded={part === which} onClick={() => setPart(which)}>
        Change<span class="hidden-text"> {what}</span>
      </button>
    );
  const undone = (): void => {
    setSaved(null);
    setRemoved(false);
    reload();
  };
  const health = healthOf(edge, backends, figures);
  const found = figures.of(answer.data.id);
  if (isRemoved && saved !== null) return <SiteSavedView saved={saved} onUndone={undone} />;
  const paused = isPaused(edge);
  return (
    <>
      {saved !== null && part === null && <SiteSavedView saved={saved} onUndone={undone} />}
      <section class="card" aria-label="Site">
        <dl class="body site-facts">
          <Row name="Address" action={change('host', 'the address')}>
            <Addresses hostports={answer.data.hostports} />
          </Row>
          <Row name="Goes to" action={change('target', 'where it goes')}>
            <Targets edge={edge} backends={backends} />
          </Row>
          <Row name="Who may enter" action={change('entry', 'who may enter')}>
            {entryOf(edge).text || '–'}
          </Row>
          <Row
            name="State"
            action={
              areAllowed(['edges:write']) &&
              answer.data.routes.length > 0 && (
                <button type="button" class="small" aria-expanded={part === 'pause'} onClick={() => setPart('pause')}>
                  {paused ? 'Open again' : 'Pause'}
                </button>
              )
            }
          >
            <span class="line">
              <HealthChip health={health} />
              <span class="muted">{health.why}</span>
            </span>
          </Row>
          <Row name="Certificate">
            <CertificateOf edge={edge} />
          </Row>
          {found !== null && (
            <Row name="Last hour">{`${counted(found.requests, 'request')}, ${counted(found.errors, 'error')}`}</Row>
          )}
        </dl>
      </section>
      {answer.data.routes.length > 1 && <OtherRoutes edge={answer.data} />}
      {part === 'host' && <HostChange {...common} />}
      {part === 'target' && <TargetChange {...common} backend={target && backends.get(target.id)} />}
      {part === 'entry' && <EntryChange {...common} />}
      {part === 'pause' && (paused ? <ResumeChange {...common} /> : <PauseChange {...common} />)}
      {part === 'remove' && <RemoveChange {...common} />}
      <SiteProblems edgeId={answer.data.id} />
      <SiteTraffic edgeId={answer.data.id} routeId={rootRoute(answer.data)?.id ?? null} />
      {areAllowed(['edges:write']) && part === null && (
        <div class="line">
          <button type="button" class="danger" onClick={() => setPart('remove')}>
            Remove the site
          </button>
        </div>
      )}
    </>
  );
}

interface RowProps {
  readonly name: string;
  readonly action?: preact.ComponentChildren;
  readonly children: preact.ComponentChildren;
}

function Row({ name, action, children }: RowProps) {
  return (
    <div class="site-fact">
      <dt>{name}</dt>
      <dd dir="auto">{children}</dd>
      {action !== undefined && <dd>{action}</dd>}
    </div>
  );
}

/** A wildcard has no address of its own to open. */
function Addresses({ hostports }: { hostports: readonly string[] }) {
  return (
    <ul class="stack-small">
      {hostports.map((hostport) => {
        const name = hostport.replace(/:443$/, '');
        return (
          <li key={hostport} class="wrap-anywhere">
            {name.startsWith('*') ? (
              name
            ) : (
              <a href={`https://${name}/`} target="_blank" rel="noreferrer">
                {`https://${name}/`}
              </a>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function OtherRoutes({ edge }: { edge: SiteEdge }) {
  const others = edge.routes.filter(({ match }) => match !== '/');
  return (
    <p>
      Other paths have their own settings:{' '}
      {others.slice(0, 20).map(({ id, match }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <a class="mono" dir="auto" href={href(`/edges/${edge.id}/routes/${id}`)}>
            {match}
          </a>
        </span>
      ))}
      {others.length > 20 && ` and ${others.length - 20} more`}
    </p>
  );
}

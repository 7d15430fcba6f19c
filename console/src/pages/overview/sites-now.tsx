import { SITE_EDGE, type SiteEdges, siteEdgePath } from '../../../../src/client/sites.ts';
import { type Answer, request } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { textOf } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { loadByIds } from '../../schema/load-by-ids.ts';
import { CertificateOf } from '../sites/site-certificate.tsx';
import { figureText } from '../sites/site-columns.tsx';
import { backendsOf, HealthChip, healthOf } from '../sites/site-health.tsx';
import { useDocuments } from '../sites/use-documents.ts';
import { type SiteFigures, useSiteFigures } from '../sites/use-site-figures.ts';

const EVERY_MS = 15_000;
const SHOWN = 8;

interface Sites {
  readonly edges: readonly Document[];
  readonly count: number;
}

/** First what its owner asks: are my sites up? Those with errors, then the busiest, then the newest. */
export function SitesNow() {
  const figures = useSiteFigures();
  // Endpoints of agents have their own list.
  const ids = figures.busiest
    .map(({ id }) => id)
    .filter((id) => id.startsWith(`${SITE_EDGE.idPrefix}_`))
    .slice(0, SHOWN);
  const loaded = useLoaded(`sites ${[...ids].sort().join()}`, (abort) => loadSites(ids, abort), EVERY_MS);
  const edges = loaded.data?.edges ?? [];
  const backends = useDocuments(edges.flatMap(backendsOf), 0);
  if (!isAllowed('edges:read')) return null;
  return (
    <section class="card" aria-label="Sites">
      <header>
        <h2>Sites</h2>
        {loaded.data !== null && <span class="hint">{stateText(loaded.data.count, figures)}</span>}
        <a class="push" href={href('/sites')}>
          All sites
        </a>
      </header>
      <LoadedView loaded={loaded} what="The list of sites">
        {() => (
          <DataTable<Document>
            label="Sites and their state"
            rows={edges}
            rowKey={({ id }) => String(id)}
            isStacked
            columns={[
              {
                name: 'Host',
                class: 'col-wide',
                cell: (edge) => (
                  <a dir="auto" href={href(`/sites/${textOf(edge['id'])}`)} title={documentName(edge)}>
                    {documentName(edge)}
                  </a>
                ),
              },
              {
                name: 'State',
                class: 'col-button',
                cell: (edge) => <HealthChip health={healthOf(edge, backends, figures)} />,
              },
              {
                name: 'Requests',
                class: 'number col-figure',
                cell: (edge) => figureText(figures, String(edge['id']), 'requests'),
              },
              {
                name: 'Errors',
                class: 'number col-figure',
                cell: (edge) => figureText(figures, String(edge['id']), 'errors'),
              },
              { name: 'Certificate', class: 'col-time', cell: (edge) => <CertificateOf edge={edge} isBrief /> },
            ]}
            empty={
              <EmptyState title="Nothing is published yet">
                <p>A site is a host of yours that leads to a service, to an agent elsewhere, or to a fixed page.</p>
              </EmptyState>
            }
          />
        )}
      </LoadedView>
    </section>
  );
}

/** The wanted ones, filled up with the newest. */
async function loadSites(ids: readonly string[], abort: AbortSignal): Promise<Sites> {
  const [busy, newest]: readonly [ReadonlyMap<string, Document>, Answer<SiteEdges<Document>>] = await Promise.all([
    loadByIds(
      ids.map((id) => ({ id, uri: siteEdgePath(encodeURIComponent(id)) })),
      abort,
    ),
    request<SiteEdges<Document>>('GET', `${SITE_EDGE.path}?limit=${SHOWN}`, { abort }),
  ]);
  const busiest = ids.map((id) => busy.get(id)).filter((edge): edge is Document => edge !== undefined);
  const edges: readonly Document[] = [...busiest, ...newest.data[SITE_EDGE.resource]];
  const once = new Map(edges.map((edge) => [String(edge['id']), edge]));
  return { edges: [...once.values()].slice(0, SHOWN), count: newest.count ?? once.size };
}

function stateText(count: number, figures: SiteFigures): string {
  const used = figures.busiest.filter(({ requests }) => requests > 0);
  const failing = used.filter(({ errors, requests }) => errors * 2 >= requests).length;
  const sites = `${count.toLocaleString('en')} ${count === 1 ? 'site' : 'sites'}`;
  if (used.length === 0) return `${sites}, no requests in the last hour`;
  const were = `${sites}, ${used.length.toLocaleString('en')} with visitors in the last hour`;
  return failing === 0 ? were : `${were}, ${failing.toLocaleString('en')} failing`;
}

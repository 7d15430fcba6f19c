import { useState } from 'preact/hooks';
import { SITE_EDGE } from '../../../../src/client/sites.ts';
import { isAllowed } from '../../api/scopes.ts';
import { usePages } from '../../api/use-pages.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ListFilter, listPath, NothingFound, useListQuery } from '../../components/list-filter.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { PagedTable } from '../../components/paged-table.tsx';
import { PublishLink } from '../publish/publish-link.tsx';
import { AgentSites } from './agent-sites.tsx';
import { siteColumns } from './site-columns.tsx';
import { backendsOf } from './site-health.tsx';
import { useDocuments } from './use-documents.ts';
import { useSiteFigures } from './use-site-figures.ts';

/** What this installation serves, as people think of it: a host, where it goes, who may enter, whether it works. */
export function SitesPage() {
  const wanted = useListQuery();
  const pages = usePages(listPath(`${SITE_EDGE.path}?limit=100`, wanted), SITE_EDGE.resource);
  const ofAgents = listPath('/tunnels?limit=100', { ...wanted, order: '' });
  const tunnels = usePages(isAllowed('tunnels:read') ? ofAgents : null, 'tunnels');
  const [round, setRound] = useState(0);
  const backends = useDocuments(pages.rows.flatMap(backendsOf), round);
  const figures = useSiteFigures();
  const isEmpty = pages.rows.length === 0 && wanted.q === '';
  const reload = (): void => {
    setRound(round + 1);
    pages.reload();
    tunnels.reload();
    figures.reload();
  };
  return (
    <>
      <PageHead title="Sites" hint="What this installation serves. Figures are those of the last hour.">
        {!isEmpty && <PublishLink />}
        <button type="button" onClick={reload}>
          Reload
        </button>
      </PageHead>
      {!isEmpty && (
        <ListFilter label="Search sites" placeholder="Host, person, address, description or id" pages={pages} />
      )}
      <PagedTable
        label="Sites"
        pages={pages}
        columns={siteColumns(backends, figures)}
        isStacked
        empty={
          isEmpty ? (
            <EmptyState title="Nothing is published yet">
              <p>A site is a host of yours that leads to a service, to an agent elsewhere, or to a fixed page.</p>
              <PublishLink />
            </EmptyState>
          ) : (
            <NothingFound what="site" />
          )
        }
      />
      <AgentSites pages={tunnels} figures={figures} round={round} />
    </>
  );
}

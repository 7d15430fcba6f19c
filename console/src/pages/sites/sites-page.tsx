import { useState } from 'preact/hooks';
import { isAllowed } from '../../api/scopes.ts';
import { usePages } from '../../api/use-pages.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { PagedTable } from '../../components/paged-table.tsx';
import { href } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { PublishLink } from '../publish/publish-link.tsx';
import { AgentSites } from './agent-sites.tsx';
import { siteColumns } from './site-columns.tsx';
import { backendsOf } from './site-health.tsx';
import { useDocuments } from './use-documents.ts';
import { useSiteFigures } from './use-site-figures.ts';

/** What this installation serves, as people think of it: a host, where it goes, who may enter, whether it works. */
export function SitesPage() {
  const pages = usePages('/edges/https?limit=100', 'https_edges');
  const tunnels = usePages(isAllowed('tunnels:read') ? '/tunnels?limit=100' : null, 'tunnels');
  const [filter, setFilter] = useState('');
  const [round, setRound] = useState(0);
  const backends = useDocuments(pages.rows.flatMap(backendsOf), round);
  const figures = useSiteFigures();
  const wanted = filter.trim().toLowerCase();
  const rows = pages.rows.filter((edge) => documentName(edge).toLowerCase().includes(wanted));
  const reload = (): void => {
    setRound(round + 1);
    pages.reload();
    tunnels.reload();
    figures.reload();
  };
  return (
    <>
      <PageHead title="Sites" hint="What this installation serves. Figures are those of the last hour.">
        {pages.rows.length > 0 && <PublishLink />}
        <button type="button" onClick={reload}>
          Reload
        </button>
      </PageHead>
      {(pages.rows.length > 0 || filter !== '') && (
        <div class="filters">
          <div class="field">
            <label for="site-filter">Filter by host</label>
            <input
              id="site-filter"
              type="search"
              value={filter}
              onInput={(event) => setFilter(event.currentTarget.value)}
            />
          </div>
          {pages.hasMore && filter !== '' && (
            <a href={href(`/search?q=${encodeURIComponent(filter)}`)}>Search all sites for it</a>
          )}
        </div>
      )}
      <PagedTable
        label="Sites"
        pages={pages}
        columns={siteColumns(backends, figures)}
        rows={rows}
        isStacked
        empty={
          filter === '' ? (
            <EmptyState title="Nothing is published yet">
              <p>A site is a host of yours that leads to a service, to an agent elsewhere, or to a fixed page.</p>
              <PublishLink />
            </EmptyState>
          ) : (
            <EmptyState title="No site matches the filter">
              <button type="button" onClick={() => setFilter('')}>
                Clear the filter
              </button>
            </EmptyState>
          )
        }
      />
      <AgentSites pages={tunnels} filter={wanted} figures={figures} round={round} />
    </>
  );
}

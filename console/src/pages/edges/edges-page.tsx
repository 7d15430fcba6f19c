import { useState } from 'preact/hooks';
import { SITE_EDGE } from '../../../../src/client/sites.ts';
import { areAllowed } from '../../api/scopes.ts';
import { usePages } from '../../api/use-pages.ts';
import { CreateResource } from '../../components/create-resource.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ListFilter, listPath, NothingFound, useListQuery } from '../../components/list-filter.tsx';
import { ErrorNotice } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { textAt } from '../../format/text.ts';
import { navigate } from '../../router/location.ts';
import { resourceType } from '../../schema/resource-types.ts';
import { edgeColumns, type TreeRow, treeRows } from './edge-tree.tsx';

/** Beyond this many edges, routes are shown on demand. */
const OPEN_UP_TO = 40;

export function EdgesPage() {
  const type = resourceType(SITE_EDGE.resource);
  const wanted = useListQuery();
  const pages = usePages(listPath(`${SITE_EDGE.path}?limit=100`, wanted), SITE_EDGE.resource);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [isCreating, setCreating] = useState(false);
  const isOpen = (id: string): boolean => toggled.has(id) !== pages.rows.length <= OPEN_UP_TO;
  const toggle = (id: string): void => {
    const next = new Set(toggled);
    if (!next.delete(id)) next.add(id);
    setToggled(next);
  };
  const rows = treeRows(pages.rows, isOpen);
  const canCreate = type?.create != null && areAllowed(type.create.scopes);
  const create = canCreate && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      Create an edge
    </button>
  );
  return (
    <>
      <PageHead
        title="Edges and routes"
        hint="Hosts that are served over HTTPS, and the paths below them with their modules."
      >
        {create}
      </PageHead>
      {pages.error !== null && <ErrorNotice error={pages.error} retry={pages.reload} />}
      {(pages.rows.length > 0 || wanted.q !== '') && (
        <ListFilter label="Search edges" placeholder="Host, path, person, address, description or id" pages={pages} />
      )}
      <DataTable<TreeRow>
        label="Edges and routes"
        columns={edgeColumns(isOpen, toggle)}
        rows={rows}
        rowKey={({ key }) => key}
        hasMore={pages.hasMore}
        isLoading={pages.isLoading}
        loadMore={pages.loadMore}
        empty={
          wanted.q === '' ? (
            <EmptyState title="No edges yet">
              <p>
                An edge names the hosts that Postern serves. Create one, add a route for the path “/”, and give the
                route a backend: then requests arrive at your service.
              </p>
              {create}
            </EmptyState>
          ) : (
            <NothingFound what="edge" />
          )
        }
      />
      {isCreating && type !== undefined && (
        <CreateResource
          type={type}
          initial={{ hostports: [''] }}
          onClose={() => setCreating(false)}
          onCreated={(edge) => navigate(`/edges/${textAt(edge, 'id')}`)}
        />
      )}
    </>
  );
}

import { useState } from 'preact/hooks';
import { SITE_EDGE, SITE_ROUTE, siteEdgePath } from '../../../../src/client/sites.ts';
import { request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { CreateResource } from '../../components/create-resource.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { DocumentActions } from '../../components/document-actions.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Facts } from '../../components/facts.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { ModuleChips } from '../../components/module-chips.tsx';
import { ModuleList } from '../../components/module-list.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Time } from '../../components/time.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { textAt } from '../../format/text.ts';
import { href, navigate } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { fillPath } from '../../schema/paths.ts';
import { resourceType } from '../../schema/resource-types.ts';
import type { PageProps } from '../page-props.ts';
import { routesOf } from './edge-tree.tsx';

export function EdgePage({ params }: PageProps) {
  const type = resourceType(SITE_EDGE.resource);
  const id = params['edge_id'] ?? '';
  const path = siteEdgePath(encodeURIComponent(id));
  const loaded = useLoaded(path, (abort) => request<Document>('GET', path, { abort }));
  const title = loaded.data === null ? 'Edge' : documentName(loaded.data.data);
  return (
    <>
      <PageHead title={title} crumbs={[['Edges and routes', '/edges']]}>
        {type !== undefined && loaded.data !== null && (
          <DocumentActions
            type={type}
            path={path}
            answer={loaded.data}
            consequence="Its routes and their modules are deleted as well, and its hosts are no longer served."
            onChange={loaded.reload}
            onDeleted={() => navigate('/edges')}
          />
        )}
      </PageHead>
      <LoadedView loaded={loaded} what="This edge">
        {({ data: edge }) => (
          <>
            <section class="card" aria-label="Edge">
              <div class="body">
                <Facts
                  rows={[
                    ['Hosts', <ValueView key="hosts" value={edge['hostports']} />],
                    ['Description', <ValueView key="description" value={edge['description']} />],
                    ['Metadata', <ValueView key="metadata" value={edge['metadata']} />],
                    ['Created', <Time key="created" at={edge['created_at']} />],
                    ['Id', <code key="id">{id}</code>],
                  ]}
                />
              </div>
            </section>
            <Routes edge={edge} onChange={loaded.reload} />
            <ModuleList
              document={edge}
              modules={type?.modules ?? []}
              ids={{ id }}
              place={documentName(edge)}
              empty="Modules of an edge apply to the connection: the TLS versions, and certificates of clients."
              onChange={loaded.reload}
            />
          </>
        )}
      </LoadedView>
    </>
  );
}

function Routes({ edge, onChange }: { edge: Document; onChange: () => void }) {
  const type = resourceType(SITE_ROUTE.resource);
  const [isCreating, setCreating] = useState(false);
  const edgeId = textAt(edge, 'id');
  const canCreate = type?.create != null && areAllowed(type.create.scopes);
  const create = canCreate && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      Create a route
    </button>
  );
  const rows = routesOf(edge);
  return (
    <section class="stack-small" aria-label="Routes">
      <div class="line">
        <h2>Routes</h2>
        {rows.length > 0 && <span class="push">{create}</span>}
      </div>
      <DataTable<Document>
        label="Routes by path"
        columns={[
          {
            name: 'Path',
            class: 'col-wide',
            cell: (route) => (
              <span class="line">
                <a class="mono one-line" href={href(`/edges/${edgeId}/routes/${textAt(route, 'id')}`)}>
                  {textAt(route, 'match')}
                </a>
                <span class="hint">{route['match_type'] === 'exact_path' ? 'exact' : 'prefix'}</span>
              </span>
            ),
          },
          { name: 'Modules', cell: (route) => <ModuleChips document={route} modules={type?.modules ?? []} /> },
          {
            name: 'Description',
            class: 'low',
            cell: (route) => <span dir="auto">{textAt(route, 'description')}</span>,
          },
        ]}
        rows={rows}
        rowKey={(route) => textAt(route, 'id')}
        empty={
          <EmptyState title="No routes yet">
            <p>A route takes the requests of a path. Create one for “/”, then add the Backend module to it.</p>
            {create}
          </EmptyState>
        }
      />
      {isCreating && type !== undefined && (
        <CreateResource
          type={type}
          path={fillPath(type.create?.path ?? '', { edge_id: edgeId })}
          initial={{ match_type: 'path_prefix', match: '/' }}
          onClose={() => setCreating(false)}
          onCreated={(route) => {
            onChange();
            navigate(`/edges/${edgeId}/routes/${textAt(route, 'id')}`);
          }}
        />
      )}
    </section>
  );
}

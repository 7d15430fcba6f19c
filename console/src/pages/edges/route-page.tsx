import { SITE_ROUTE, siteEdgePath } from '../../../../src/client/sites.ts';
import { get, request } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { DocumentActions } from '../../components/document-actions.tsx';
import { Facts } from '../../components/facts.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { ModuleList } from '../../components/module-list.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Time } from '../../components/time.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { textAt } from '../../format/text.ts';
import { href, navigate } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { resourceType } from '../../schema/resource-types.ts';
import type { PageProps } from '../page-props.ts';

export function RoutePage({ params }: PageProps) {
  const type = resourceType(SITE_ROUTE.resource);
  const edgeId = params['edge_id'] ?? '';
  const id = params['id'] ?? '';
  const edgePath = siteEdgePath(encodeURIComponent(edgeId));
  const path = `${edgePath}/routes/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, (abort) => request<Document>('GET', path, { abort }));
  const edge = useLoaded(edgePath, (abort) => get<Document>(edgePath, abort));
  const edgeName = edge.data === null ? 'Edge' : documentName(edge.data);
  const match = textAt(loaded.data?.data, 'match');
  return (
    <>
      <PageHead
        title={match === '' ? 'Route' : `Route ${match}`}
        crumbs={[
          ['Edges and routes', '/edges'],
          [edgeName.slice(0, 60), `/edges/${edgeId}`],
        ]}
      >
        {isAllowed('explain:read') && edge.data !== null && match !== '' && (
          <a class="button" href={href(`/explain?url=${encodeURIComponent(urlOf(edge.data, match))}`)}>
            Explain a request
          </a>
        )}
        {type !== undefined && loaded.data !== null && (
          <DocumentActions
            type={type}
            path={path}
            answer={loaded.data}
            consequence="Its modules are deleted as well, and requests for its path go to another route or get 404."
            onChange={loaded.reload}
            onDeleted={() => navigate(`/edges/${edgeId}`)}
          />
        )}
      </PageHead>
      <LoadedView loaded={loaded} what="This route">
        {({ data: route }) => (
          <>
            <section class="card" aria-label="Route">
              <div class="body">
                <Facts
                  rows={[
                    ['Path', <code key="match">{match}</code>],
                    ['Compared as', route['match_type'] === 'exact_path' ? 'exact path' : 'path prefix'],
                    ['Description', <ValueView key="description" value={route['description']} />],
                    ['Created', <Time key="created" at={route['created_at']} />],
                    ['Id', <code key="id">{id}</code>],
                  ]}
                />
              </div>
            </section>
            <ModuleList
              document={route}
              modules={type?.modules ?? []}
              ids={{ edge_id: edgeId, id }}
              place={`${edge.data === null ? '' : documentName(edge.data)}${match}`}
              empty="A route without the Backend module answers 503. Add it first, then the modules that should come before it."
              onChange={loaded.reload}
            />
          </>
        )}
      </LoadedView>
    </>
  );
}

function urlOf(edge: Document, match: string): string {
  const host = (edge['hostports'] as string[] | undefined)?.[0] ?? 'example.com';
  return `https://${host.replace(/^\*\./, 'www.').replace(/:443$/, '')}${match}`;
}

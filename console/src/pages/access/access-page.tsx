import { useMemo } from 'preact/hooks';
import { SITE_EDGE } from '../../../../src/client/sites.ts';
import { type Document, usePages } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorNotice } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { textAt } from '../../format/text.ts';
import { href, query } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { routesOf } from '../edges/edge-tree.tsx';
import { Rehearsal } from './rehearsal.tsx';

interface GuardedRoute {
  readonly edge: Document;
  readonly route: Document;
}

/** Routes with access rules, and who would pass them. */
export function AccessPage() {
  const pages = usePages(`${SITE_EDGE.path}?limit=100`, SITE_EDGE.resource);
  const guarded = useMemo(() => pages.rows.flatMap(guardedRoutes), [pages.rows]);
  const edgeId = query.value.get('edge') ?? '';
  const routeId = query.value.get('route') ?? '';
  const chosen = guarded.find(({ edge, route }) => edge['id'] === edgeId && route['id'] === routeId);
  return (
    <>
      <PageHead
        title="Access rules"
        hint="Who may use a route. A rehearsal shows the effect before anybody is refused."
      />
      {pages.error !== null && <ErrorNotice error={pages.error} retry={pages.reload} />}
      <DataTable<GuardedRoute>
        label="Routes with access rules"
        columns={COLUMNS}
        rows={guarded}
        rowKey={({ route }) => textAt(route, 'id')}
        isSelected={({ route }) => route['id'] === routeId}
        hasMore={pages.hasMore}
        isLoading={pages.isLoading}
        loadMore={pages.loadMore}
        empty={
          <EmptyState title="No route has access rules">
            <p>
              Open a route on the page <a href={href('/edges')}>Edges and routes</a>, add a login module, then the
              Access module. Start with “enforce” off: every request passes, and this page shows who would have been
              refused.
            </p>
          </EmptyState>
        }
      />
      {edgeId !== '' && routeId !== '' && (
        <Rehearsal
          key={routeId}
          edgeId={edgeId}
          routeId={routeId}
          config={(chosen?.route['access'] as Document | undefined) ?? null}
        />
      )}
    </>
  );
}

function guardedRoutes(edge: Document): readonly GuardedRoute[] {
  return routesOf(edge)
    .filter((route) => route['access'] !== null && route['access'] !== undefined)
    .map((route) => ({ edge, route }));
}

function count(route: Document, list: string): number {
  return ((route['access'] as Document)[list] as unknown[] | undefined)?.length ?? 0;
}

const COLUMNS: readonly Column<GuardedRoute>[] = [
  {
    name: 'Route',
    class: 'col-wide',
    cell: ({ edge, route }) => (
      <a dir="auto" href={href(`/edges/${textAt(edge, 'id')}/routes/${textAt(route, 'id')}`)}>
        {documentName(edge)}
        {textAt(route, 'match')}
      </a>
    ),
  },
  {
    name: 'State',
    class: 'col-time',
    cell: ({ route }) => {
      const access = route['access'] as Document;
      if (access['enabled'] === false) return <Chip>disabled</Chip>;
      return access['enforce'] === false ? <Chip tone="warn">rehearsal</Chip> : <Chip tone="ok">enforced</Chip>;
    },
  },
  {
    name: 'Rules',
    class: 'middle',
    cell: ({ route }) =>
      `${count(route, 'allow')} allow, ${count(route, 'deny')} deny, ${count(route, 'bearer')} bearer`,
  },
  {
    name: 'Who passes',
    class: 'col-time',
    cell: ({ edge, route }) => (
      <a href={href(`/access?edge=${textAt(edge, 'id')}&route=${textAt(route, 'id')}`)}>Rehearse</a>
    ),
  },
];

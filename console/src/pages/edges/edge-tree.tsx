import { SITE_EDGE, SITE_ROUTE } from '../../../../src/client/sites.ts';
import type { Document } from '../../api/use-pages.ts';
import type { Column } from '../../components/data-table.tsx';
import { Icon } from '../../components/icon.tsx';
import { ModuleChips } from '../../components/module-chips.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { resourceType } from '../../schema/resource-types.ts';

export interface TreeRow {
  readonly key: string;
  readonly edge: Document;
  /** null: the row of the edge itself. */
  readonly route: Document | null;
}

/** Edges with the routes of those that are open, as one list of rows of equal height. */
export function treeRows(edges: readonly Document[], isOpen: (id: string) => boolean): readonly TreeRow[] {
  return edges.flatMap((edge) => {
    const id = textAt(edge, 'id');
    const own: TreeRow = { key: id, edge, route: null };
    if (!isOpen(id)) return [own];
    return [own, ...routesOf(edge).map((route): TreeRow => ({ key: textAt(route, 'id'), edge, route }))];
  });
}

export function routesOf(edge: Document): readonly Document[] {
  return (edge['routes'] as Document[] | undefined) ?? [];
}

/** The route of "/" stands for its site. */
export function rootFirst(edge: Document): readonly Document[] {
  const isRoot = ({ match }: Document): boolean => match === '/';
  const routes = routesOf(edge);
  return [...routes.filter(isRoot), ...routes.filter((route) => !isRoot(route))];
}

export function edgeColumns(isOpen: (id: string) => boolean, toggle: (id: string) => void): readonly Column<TreeRow>[] {
  const edgeModules = resourceType(SITE_EDGE.resource)?.modules ?? [];
  const routeModules = resourceType(SITE_ROUTE.resource)?.modules ?? [];
  return [
    {
      name: 'Host or path',
      class: 'col-wide',
      cell: ({ edge, route }) =>
        route === null ? (
          <EdgeName edge={edge} isOpen={isOpen} toggle={toggle} />
        ) : (
          <RouteName edge={edge} route={route} />
        ),
    },
    {
      name: 'Modules',
      cell: ({ edge, route }) =>
        route === null ? (
          <ModuleChips document={edge} modules={edgeModules} />
        ) : (
          <ModuleChips document={route} modules={routeModules} />
        ),
    },
    {
      name: 'Description',
      class: 'middle',
      cell: ({ edge, route }) => <span dir="auto">{textAt(route ?? edge, 'description')}</span>,
    },
    {
      name: 'Created',
      class: 'low col-time',
      cell: ({ edge, route }) => <Time at={(route ?? edge)['created_at']} />,
    },
  ];
}

function EdgeName({
  edge,
  isOpen,
  toggle,
}: {
  edge: Document;
  isOpen: (id: string) => boolean;
  toggle: (id: string) => void;
}) {
  const id = textAt(edge, 'id');
  const name = documentName(edge);
  const count = routesOf(edge).length;
  return (
    <span class="line">
      <button
        type="button"
        class="tree-toggle"
        aria-expanded={isOpen(id)}
        aria-label={`Routes of ${name.slice(0, 80)}`}
        disabled={count === 0}
        onClick={() => toggle(id)}
      >
        <Icon name={isOpen(id) && count > 0 ? 'down' : 'right'} size={14} />
      </button>
      <a class="one-line" dir="auto" href={href(`/edges/${id}`)}>
        {name}
      </a>
      <span class="hint">{count === 0 ? 'no routes' : ''}</span>
    </span>
  );
}

function RouteName({ edge, route }: { edge: Document; route: Document }) {
  return (
    <span class="line tree-indent">
      <a class="mono one-line" href={href(`/edges/${textAt(edge, 'id')}/routes/${textAt(route, 'id')}`)}>
        {textAt(route, 'match')}
      </a>
      <span class="hint">{route['match_type'] === 'exact_path' ? 'exact' : 'prefix'}</span>
    </span>
  );
}

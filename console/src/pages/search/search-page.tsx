import { SITE_EDGE, SITE_ROUTE } from '../../../../src/client/sites.ts';
import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import { Chip } from '../../components/chip.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { href, query } from '../../router/location.ts';
import { typeOfKind } from '../../schema/resource-types.ts';

/** The most that a search returns. */
const LIMIT = 100;
/** Names that requests have here, and in most other programs. */
const REQUEST_ID = /^(?:rq_|[0-9a-f]{8}-?[0-9a-f]{4})/i;
const FIELD_NAMES: Readonly<Record<string, string>> = {
  hostports: 'host',
  hostname: 'host',
  match: 'host and path',
  cidr: 'address range',
  url: 'URL',
};
const ROUTE_OF_EDGE = new RegExp(`${SITE_EDGE.path}/([^/]+)/routes/`);
const KIND_NAMES: Readonly<Record<string, string>> = {
  [SITE_EDGE.kind]: 'Site',
  [SITE_ROUTE.kind]: 'Path of a site',
};

interface Result {
  readonly kind: string;
  readonly id: string;
  readonly uri: string;
  readonly title: string;
  readonly matched: string;
}

interface Results {
  readonly results: readonly Result[];
  readonly has_more: boolean;
}

/** A route leads to its site, which people know; everything else to its own page. */
function ResultLink({ kind, id, uri, title }: Result) {
  const name = title === '' ? id : title;
  const edge = kind === SITE_EDGE.kind ? id : ROUTE_OF_EDGE.exec(uri)?.[1];
  if (edge === undefined) return <RefLink reference={{ id, uri }} name={name} />;
  return (
    <a dir="auto" href={href(`/sites/${edge}`)}>
      {name}
    </a>
  );
}

export function SearchPage() {
  const term = query.value.get('q') ?? '';
  const loaded = useLoaded(term, (abort) =>
    get<Results>(`/search?limit=${LIMIT}&q=${encodeURIComponent(term)}`, abort),
  );
  return (
    <>
      <PageHead
        title={`Search: ${term.slice(0, 80)}`}
        hint="Hosts, paths, names, e-mail addresses, descriptions, metadata and ids."
      />
      {isAllowed('requests:read') && (REQUEST_ID.test(term) || loaded.data?.results.length === 0) && (
        <p>
          Is it the id of a request?{' '}
          <a href={href(`/traffic/${encodeURIComponent(term)}`)}>Open it in the traffic view</a>.
        </p>
      )}
      <LoadedView loaded={loaded} what="Search">
        {({ results, has_more: hasMore }) => (
          <>
            {hasMore && (
              <p class="hint">
                The best {LIMIT} matches. To see fewer, type more of the name; to see all sites,{' '}
                <a href={href(`/sites?q=${encodeURIComponent(term)}`)}>search the list of sites</a>.
              </p>
            )}
            <DataTable
              label="Results"
              rows={results}
              rowKey={({ kind, id }) => `${kind} ${id}`}
              columns={[
                {
                  name: 'Name',
                  class: 'col-wide',
                  cell: (result) => <ResultLink {...result} />,
                },
                {
                  name: 'Kind',
                  cell: ({ kind }) => (
                    <Chip>{KIND_NAMES[kind] ?? typeOfKind(kind)?.title ?? kind.replaceAll('_', ' ')}</Chip>
                  ),
                },
                { name: 'Found in', class: 'middle', cell: ({ matched }) => FIELD_NAMES[matched] ?? matched },
              ]}
              empty={
                <EmptyState title="Nothing found">
                  <p>Try a part of a host name, a path, a description, or an id.</p>
                </EmptyState>
              }
            />
          </>
        )}
      </LoadedView>
    </>
  );
}

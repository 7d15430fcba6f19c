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

interface Result {
  readonly kind: string;
  readonly id: string;
  readonly uri: string;
  readonly title: string;
  readonly matched: string;
}

export function SearchPage() {
  const term = query.value.get('q') ?? '';
  const loaded = useLoaded(term, (abort) =>
    get<{ results: readonly Result[] }>(`/search?q=${encodeURIComponent(term)}`, abort),
  );
  return (
    <>
      <PageHead title={`Search: ${term.slice(0, 80)}`} hint="Hosts, paths, descriptions, metadata and ids." />
      {isAllowed('requests:read') && (
        <p>
          Is it the id of a request?{' '}
          <a href={href(`/traffic/${encodeURIComponent(term)}`)}>Open it in the traffic view</a>.
        </p>
      )}
      <LoadedView loaded={loaded} what="Search">
        {({ results }) => (
          <DataTable
            label="Results"
            rows={results}
            rowKey={({ kind, id }) => `${kind} ${id}`}
            columns={[
              {
                name: 'Name',
                class: 'col-wide',
                cell: ({ id, uri, title }) => <RefLink reference={{ id, uri }} name={title === '' ? id : title} />,
              },
              { name: 'Kind', cell: ({ kind }) => <Chip>{typeOfKind(kind)?.title ?? kind.replaceAll('_', ' ')}</Chip> },
              { name: 'Found in', class: 'middle', cell: ({ matched }) => String(matched) },
            ]}
            empty={
              <EmptyState title="Nothing found">
                <p>Try a part of a host name, a path, a description, or an id.</p>
              </EmptyState>
            }
          />
        )}
      </LoadedView>
    </>
  );
}

import { request } from '../../api/request.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { DocumentActions } from '../../components/document-actions.tsx';
import { Facts } from '../../components/facts.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { NotAvailable } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { navigate, query } from '../../router/location.ts';
import { documentName } from '../../schema/document-name.ts';
import { labelOf } from '../../schema/json-schema.ts';
import { resourceAt } from '../../schema/paths.ts';
import { type ResourceType, resourceType } from '../../schema/resource-types.ts';
import { capital } from '../../shell/navigation.ts';
import { homeOf } from '../../shell/page-homes.ts';
import type { PageProps } from '../page-props.ts';

/** Any document of the API, field by field. */
export function ResourcePage({ params }: PageProps) {
  const path = query.value.get('path') ?? '';
  const found = path.startsWith('/') && !path.startsWith('//') ? resourceAt(path) : null;
  const type = resourceType(params['tag'] ?? '');
  if (found === null || type === undefined || found.type.tag !== type.tag) return <NotAvailable what="This page" />;
  return <OneResource key={path} type={type} path={path} />;
}

function OneResource({ type, path }: { type: ResourceType; path: string }) {
  const loaded = useLoaded(path, (abort) => request<Document>('GET', path, { abort }));
  const home = homeOf(type.tag);
  const title = loaded.data === null ? type.title : documentName(loaded.data.data);
  return (
    <>
      <PageHead title={title} hint={type.title} crumbs={[[capital(type.plural), home]]}>
        {loaded.data !== null && (
          <DocumentActions
            type={type}
            path={path}
            answer={loaded.data}
            onChange={loaded.reload}
            onDeleted={() => navigate(home)}
          />
        )}
      </PageHead>
      <LoadedView loaded={loaded} what="This page">
        {({ data }) => (
          <section class="card" aria-label={type.title}>
            <div class="body">
              <Facts rows={rowsOf(type, data)} />
            </div>
          </section>
        )}
      </LoadedView>
    </>
  );
}

function rowsOf(type: ResourceType, document: Document) {
  return Object.entries(document)
    .filter(([name]) => name !== 'uri')
    .map(([name, value]) => {
      const schema = type.item.properties?.[name] ?? {};
      return [labelOf(name), <ValueView key={name} value={value} schema={schema} />] as const;
    });
}

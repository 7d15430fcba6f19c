import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { areAllowed } from '../api/scopes.ts';
import { type Document, usePages } from '../api/use-pages.ts';
import { href } from '../router/location.ts';
import { documentName, NAMING_FIELDS } from '../schema/document-name.ts';
import { type JsonSchema, labelOf } from '../schema/json-schema.ts';
import { itemPath } from '../schema/paths.ts';
import type { ResourceType } from '../schema/resource-types.ts';
import { type CreateForm, CreateResource } from './create-resource.tsx';
import type { Column } from './data-table.tsx';
import { EmptyState } from './empty-state.tsx';
import { ListFilter, listPath, NothingFound, useListQuery } from './list-filter.tsx';
import { NotAvailable } from './notice.tsx';
import { PagedTable } from './paged-table.tsx';
import { ValueView } from './value-view.tsx';

interface ResourceListProps {
  readonly type: ResourceType;
  /** Path of the list with parents filled in. */
  readonly path?: string;
  readonly columns?: readonly Column<Document>[];
  readonly extraColumns?: (reload: () => void) => readonly Column<Document>[];
  /** What one does with it, for a list that is still empty. */
  readonly purpose?: ComponentChildren;
  /** Above the list, whether it is empty or not. */
  readonly hint?: ComponentChildren;
  /** Null: none can be created now. */
  readonly form?: CreateForm | null;
}

/** Any list of the API: paged by the server, with a button to create if the scopes allow it. */
export function ResourceList({ type, path, columns, extraColumns, purpose, hint, form = {} }: ResourceListProps) {
  const wanted = useListQuery();
  const pages = usePages(listPath(path ?? `${type.list.path}?limit=100`, wanted), type.listKey);
  const [isCreating, setCreating] = useState(false);
  const canCreate =
    form !== null && type.create !== null && areAllowed(type.create.scopes) && !type.create.path.includes('{');
  const name = type.title.toLowerCase().replace(/^(https|api|ip|tls|http)\b/, (word) => word.toUpperCase());
  if (pages.error?.isUnavailable === true) return <NotAvailable what={`The list of ${type.plural}`} />;
  const createButton = canCreate && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      {form?.name ?? (type.create?.summary || `Create ${name}`)}
    </button>
  );
  return (
    <div class="stack-small">
      {hint !== undefined && pages.rows.length > 0 && <p class="hint">{hint}</p>}
      {pages.rows.length > 0 && canCreate && <div class="line">{createButton}</div>}
      {(pages.rows.length > 0 || wanted.q !== '') && <ListFilter label={`Search ${type.plural}`} pages={pages} />}
      <PagedTable
        label={type.plural}
        pages={pages}
        columns={[...(columns ?? columnsOf(type)), ...(extraColumns?.(pages.reload) ?? [])]}
        empty={
          wanted.q === '' ? (
            <EmptyState title={`No ${type.plural} yet`}>
              <p>{purpose ?? type.description}</p>
              {createButton}
            </EmptyState>
          ) : (
            <NothingFound what={type.title.toLowerCase()} />
          )
        }
      />
      {isCreating && (
        <CreateResource type={type} form={form ?? {}} onClose={() => setCreating(false)} onCreated={pages.reload} />
      )}
    </div>
  );
}

/** A document's name, what tells it apart, and when it was made. */
function columnsOf(type: ResourceType): readonly Column<Document>[] {
  const fields = Object.entries(type.item.properties ?? {})
    .filter(([name, field]) => isTelling(name, field))
    .slice(0, 4);
  return [
    nameColumn(type),
    ...fields.map(
      ([name, field], index): Column<Document> => ({
        name: labelOf(name),
        class: index === 0 ? '' : index === 1 ? 'middle' : 'low',
        order: name,
        cell: (row) => <ValueView value={row[name]} schema={field} />,
      }),
    ),
  ];
}

export function nameColumn(type: ResourceType): Column<Document> {
  const naming = NAMING_FIELDS.find((field) => type.item.properties?.[field] !== undefined);
  return {
    name: 'Name',
    class: 'col-wide',
    ...(naming !== undefined && { order: naming }),
    cell: (row) => {
      const path = itemPath(type, row);
      const name = documentName(row);
      if (path === null || type.get === null) return <span dir="auto">{name}</span>;
      return (
        <a dir="auto" href={href(`/resources/${type.tag}/item?path=${encodeURIComponent(path)}`)}>
          {name}
        </a>
      );
    },
  };
}

const UNTELLING = new Set([
  'id',
  'uri',
  'metadata',
  'description',
  'owner_id',
  'name',
  'domain',
  'hostname',
  'email',
  'token',
  'url',
  'public_url',
]);

function isTelling(name: string, field: JsonSchema): boolean {
  if (UNTELLING.has(name) || name.endsWith('_pem') || field['x-secret'] !== undefined) return false;
  return field.type !== 'null' && name !== 'body';
}

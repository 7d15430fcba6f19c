import type { ComponentChildren } from 'preact';
import type { Document, Pages } from '../api/use-pages.ts';
import { textAt } from '../format/text.ts';
import { setQuery } from '../router/location.ts';
import { type Column, DataTable } from './data-table.tsx';
import { useListQuery } from './list-filter.tsx';
import { ErrorNotice } from './notice.tsx';

interface PagedTableProps {
  readonly label: string;
  readonly pages: Pages;
  readonly columns: readonly Column<Document>[];
  readonly rowKey?: (row: Document) => string;
  readonly empty: ComponentChildren;
  /** See `DataTable`. */
  readonly isStacked?: boolean;
}

/** A list of the API: its rows, the next page when it comes into view, and why it could not be loaded. */
export function PagedTable(props: PagedTableProps) {
  const { label, pages, columns, rowKey = keyOf, empty, isStacked = false } = props;
  return (
    <>
      {pages.error !== null && <ErrorNotice error={pages.error} retry={pages.reload} />}
      <DataTable
        label={label}
        columns={columns}
        rows={pages.rows}
        rowKey={rowKey}
        hasMore={pages.hasMore}
        isLoading={pages.isLoading}
        loadMore={pages.loadMore}
        // Without an answer, nothing is known to be missing.
        empty={pages.error === null ? empty : ''}
        order={useListQuery().order}
        onOrder={(order) => setQuery({ order })}
        isStacked={isStacked}
      />
    </>
  );
}

function keyOf(row: Document): string {
  return textAt(row, 'id') || textAt(row, 'uri') || JSON.stringify(row);
}

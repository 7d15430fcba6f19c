import type { ComponentChildren } from 'preact';
import type { Document, Pages } from '../api/use-pages.ts';
import { textAt } from '../format/text.ts';
import { type Column, DataTable } from './data-table.tsx';
import { ErrorNotice } from './notice.tsx';

interface PagedTableProps {
  readonly label: string;
  readonly pages: Pages;
  readonly columns: readonly Column<Document>[];
  /** Absent: all that are loaded. */
  readonly rows?: readonly Document[];
  readonly rowKey?: (row: Document) => string;
  readonly empty: ComponentChildren;
  /** See `DataTable`. */
  readonly isStacked?: boolean;
}

/** A list of the API: its rows, the next page when it comes into view, and why it could not be loaded. */
export function PagedTable(props: PagedTableProps) {
  const { label, pages, columns, rows = pages.rows, rowKey = keyOf, empty, isStacked = false } = props;
  return (
    <>
      {pages.error !== null && <ErrorNotice error={pages.error} retry={pages.reload} />}
      <DataTable
        label={label}
        columns={columns}
        rows={rows}
        rowKey={rowKey}
        // A filter looks at what is loaded: it asks for no further pages.
        hasMore={pages.hasMore && rows.length === pages.rows.length}
        isLoading={pages.isLoading}
        loadMore={pages.loadMore}
        empty={empty}
        isStacked={isStacked}
      />
    </>
  );
}

function keyOf(row: Document): string {
  return textAt(row, 'id') || textAt(row, 'uri') || JSON.stringify(row);
}

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Width and alignment; "middle" and "low" disappear on narrow screens. */
  readonly class?: string;
  /** Field of the API that the column can be ordered by. */
  readonly order?: string;
}

interface DataTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly isSelected?: (row: Row) => boolean;
  readonly hasMore?: boolean;
  readonly isLoading?: boolean;
  /** All rows are in the document, each as high as it needs. */
  readonly isWhole?: boolean;
  readonly loadMore?: () => void;
  readonly empty?: ComponentChildren;
  /** The field that the rows are ordered by, with "-" in front in descending order. */
  readonly order?: string;
  readonly onOrder?: (order: string) => void;
  /** On a narrow screen, a row has a line for each column instead of hiding some. */
  readonly isStacked?: boolean;
}

const ROW_HEIGHT = 38;
/** As in table.css: all rows have one height, for the rows that are not in the DOM. */
const STACKED_LINE = 26;
const STACKED_PADDING = 17;
const NARROW = matchMedia('(max-width: 760px)');
const OVERSCAN = 12;
/** Below this many rows all are rendered: the page scrolls as one. */
const VIRTUAL_FROM = 120;

/** Only the rows in view are in the DOM, and the next page is asked for near the end. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowKey, isSelected, hasMore = false, isLoading = false, loadMore, empty } = props;
  const isStacked = useNarrow() && props.isStacked === true;
  const rowHeight = isStacked ? columns.length * STACKED_LINE + STACKED_PADDING : ROW_HEIGHT;
  const box = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const isVirtual = props.isWhole !== true && rows.length > VIRTUAL_FROM;
  const first = isVirtual ? Math.max(0, Math.floor(view.top / rowHeight) - OVERSCAN) : 0;
  const last = isVirtual
    ? Math.min(rows.length, Math.ceil((view.top + view.height) / rowHeight) + OVERSCAN)
    : rows.length;
  useEffect(() => {
    if (hasMore && !isLoading && last >= rows.length - OVERSCAN) loadMore?.();
  }, [hasMore, isLoading, last, rows.length]);
  const measure = (): void => {
    const element = box.current;
    if (element !== null) setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useEffect(measure, [isVirtual]);
  // The server may look at a part of a long list at a time: nothing is missing until it has seen all.
  if (rows.length === 0 && !isLoading && !hasMore && empty !== undefined) return <div class="card">{empty}</div>;
  return (
    <section
      ref={box}
      class={`table-box ${isVirtual || hasMore ? 'tall' : ''} ${isVirtual ? '' : 'wraps'} ${isStacked ? 'stacked' : ''}`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable with the keyboard
      tabIndex={0}
      onScroll={measure}
    >
      <table aria-rowcount={hasMore ? -1 : rows.length + 1} aria-busy={isLoading}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.name} column={column} order={props.order} onOrder={props.onOrder} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Spacer height={first * rowHeight} />
          {rows.slice(first, last).map((row, index) => (
            <tr
              key={rowKey(row)}
              class="row"
              aria-rowindex={first + index + 2}
              {...(isSelected !== undefined && { 'aria-selected': isSelected(row) })}
            >
              {columns.map((column) => (
                <td key={column.name} class={column.class} data-name={column.name}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
          <Spacer height={(rows.length - last + (isLoading && rows.length === 0 ? 3 : 0)) * rowHeight} />
        </tbody>
      </table>
    </section>
  );
}

type HeadProps<Row> = Pick<DataTableProps<Row>, 'order' | 'onOrder'> & { readonly column: Column<Row> };

function Head<Row>({ column, order = '', onOrder }: HeadProps<Row>) {
  const { name, order: field } = column;
  if (field === undefined || onOrder === undefined) {
    return (
      <th scope="col" class={column.class}>
        {name}
      </th>
    );
  }
  const direction = order === field ? 'ascending' : order === `-${field}` ? 'descending' : 'none';
  const next = { none: field, ascending: `-${field}`, descending: '' }[direction];
  return (
    <th scope="col" class={column.class} aria-sort={direction}>
      <button type="button" class="order" onClick={() => onOrder(next)}>
        {name}
        <span aria-hidden="true">{{ none: '', ascending: ' ↑', descending: ' ↓' }[direction]}</span>
      </button>
    </th>
  );
}

/** One cell: one that spans all columns would give the hidden ones of a narrow screen a share of the width. */
function Spacer({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    <tr class="spacer">
      <td style={{ height: `${height}px` }} />
    </tr>
  );
}

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const follow = (): void => setNarrow(NARROW.matches);
    NARROW.addEventListener('change', follow);
    return () => NARROW.removeEventListener('change', follow);
  }, []);
  return isNarrow;
}

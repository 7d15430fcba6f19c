import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { RowHeights, rowAt } from './row-heights.ts';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChildren;
  /**
   * Width and alignment; "middle" and "low" disappear where the table is too narrow for them. On a phone nothing does.
   */
  readonly class?: string;
  /** On a phone, a row begins with this one instead of the first. */
  readonly isTitle?: boolean;
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
  /** On a phone, each column has a line of its own; otherwise those after the title flow like text. */
  readonly isStacked?: boolean;
}

/** As in table.css, of a row with one line. */
const ROW_HEIGHT = 38;
const NARROW = matchMedia('(max-width: 760px)');
const OVERSCAN = 12;
/** Below this many rows all are rendered: the page scrolls as one. */
const VIRTUAL_FROM = 120;

/** Only the rows in view are in the DOM, each as high as its content, and the next page is asked for near the end. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, rowKey, isSelected, hasMore = false, isLoading = false, loadMore, empty } = props;
  const isNarrow = useNarrow();
  const box = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const isVirtual = props.isWhole !== true && rows.length > VIRTUAL_FROM;
  const tops = useTops(box, isVirtual ? rows.map(rowKey) : NO_KEYS);
  const first = isVirtual ? Math.max(0, rowAt(tops, view.top) - OVERSCAN) : 0;
  const last = isVirtual ? Math.min(rows.length, rowAt(tops, view.top + view.height) + 1 + OVERSCAN) : rows.length;
  const below = isVirtual ? (tops[rows.length] ?? 0) - (tops[last] ?? 0) : 0;
  const title = Math.max(
    0,
    columns.findIndex(({ isTitle }) => isTitle),
  );
  useEffect(() => {
    if (hasMore && !isLoading && last >= rows.length - OVERSCAN) loadMore?.();
  }, [hasMore, isLoading, last, rows.length]);
  const measure = (): void => {
    const element = box.current;
    if (element !== null) setView({ top: element.scrollTop, height: element.clientHeight });
  };
  useEffect(() => {
    measure();
    const { current } = box;
    if (!isVirtual || current === null) return undefined;
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [isVirtual]);
  // The server may look at a part of a long list at a time: nothing is missing until it has seen all.
  if (rows.length === 0 && !isLoading && !hasMore && empty !== undefined) return <div class="card">{empty}</div>;
  return (
    <section
      ref={box}
      class={`table-box ${isVirtual || hasMore ? 'tall' : ''} ${formOf(isNarrow, props.isStacked)}`}
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
          <Spacer height={isVirtual ? (tops[first] ?? 0) : 0} />
          {rows.slice(first, last).map((row, index) => (
            <tr
              key={rowKey(row)}
              class="row"
              aria-rowindex={first + index + 2}
              {...(isSelected !== undefined && { 'aria-selected': isSelected(row) })}
            >
              {columns.map((column, at) => (
                <td
                  key={column.name}
                  class={`${column.class ?? ''} ${at === title ? 'title' : ''}`}
                  data-name={column.name}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
          <Spacer height={isLoading && rows.length === 0 ? 3 * ROW_HEIGHT : below} />
        </tbody>
      </table>
    </section>
  );
}

const NO_KEYS: readonly string[] = [];

function formOf(isNarrow: boolean, isStacked = false): string {
  return !isNarrow ? '' : isStacked ? 'phone stacked' : 'phone flowing';
}

/** Where the rows of a long list begin, as far as their heights are known. */
function useTops(box: { readonly current: HTMLElement | null }, keys: readonly string[]): Float64Array {
  const [heights] = useState(() => new RowHeights(ROW_HEIGHT));
  const [, setRound] = useState(0);
  useLayoutEffect(() => {
    const { current } = box;
    if (keys.length === 0 || current === null) return;
    const shown = [...current.querySelectorAll<HTMLElement>('tr.row')].map((row) => {
      const index = Number(row.getAttribute('aria-rowindex')) - 2;
      return [keys[index] ?? '', row.getBoundingClientRect().height] as const;
    });
    if (heights.measure(current.clientWidth, shown)) setRound((old) => old + 1);
  });
  return heights.tops(keys);
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
  // Of numbers, the largest are looked for.
  const isNumber = column.class?.includes('number') === true;
  const [once, twice] = isNumber ? [`-${field}`, field] : [field, `-${field}`];
  const next = order === once ? twice : order === twice ? '' : once;
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

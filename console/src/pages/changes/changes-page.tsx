import { type Document, usePages } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ListFilter, listPath, NothingFound, useListQuery } from '../../components/list-filter.tsx';
import { NotAvailable } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { PagedTable } from '../../components/paged-table.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { href, query } from '../../router/location.ts';
import { AuthorName } from './author-name.tsx';
import { type Change, summaryOf } from './change-record.ts';
import { VerifyButton } from './verify-button.tsx';

export function ChangesPage() {
  const wanted = useListQuery();
  const objectId = query.value.get('object') ?? '';
  const path = `/changes?limit=50${objectId === '' ? '' : `&object_id=${encodeURIComponent(objectId)}`}`;
  const pages = usePages(listPath(path, wanted), 'changes');
  return (
    <>
      <PageHead title="Changes" hint="Every change of the configuration: who made it, what it changed, and a way back.">
        <VerifyButton />
        <button type="button" onClick={pages.reload}>
          Reload
        </button>
      </PageHead>
      {pages.error?.isUnavailable === true && <NotAvailable what="The history" />}
      <ListFilter label="Search changes" placeholder="Host, person, key, message or id" pages={pages} />
      <PagedTable
        label="Changes"
        pages={pages}
        columns={pages.rows.some(hasMessage) ? COLUMNS : WITHOUT_MESSAGE}
        rowKey={(row) => textAt(row, 'revision')}
        empty={
          wanted.q === '' ? (
            <EmptyState title="No changes">
              <p>Changes appear here as soon as somebody creates or edits something.</p>
            </EmptyState>
          ) : (
            <NothingFound what="change" />
          )
        }
      />
    </>
  );
}

const MESSAGE = 'Message';

/** A column in which nothing stands would take the room of the names. */
function hasMessage(row: Document): boolean {
  return textAt(row, 'message') !== '';
}

const COLUMNS: readonly Column<Document>[] = [
  {
    name: 'Change',
    class: 'col-text',
    cell: (row) => {
      const change = row as unknown as Change;
      return (
        <span class="line">
          <span class="mono muted">{change.revision}</span>
          <a class="one-line" href={href(`/changes/${change.revision}`)}>
            {summaryOf(change)}
          </a>
        </span>
      );
    },
  },
  { name: MESSAGE, class: 'low', cell: (row) => <span dir="auto">{textAt(row, 'message')}</span> },
  { name: 'Who', class: 'middle', cell: (row) => <AuthorName author={(row as unknown as Change).author} /> },
  { name: 'Via', class: 'middle col-chip', cell: (row) => <Chip>{(row as unknown as Change).author.via}</Chip> },
  { name: 'When', class: 'col-time', cell: (row) => <Time at={row['at']} /> },
];

const WITHOUT_MESSAGE = COLUMNS.filter(({ name }) => name !== MESSAGE).map((column, at) =>
  at === 0 ? { ...column, class: 'col-half' } : column,
);

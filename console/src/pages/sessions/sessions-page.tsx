import { session } from '../../api/session-token.ts';
import type { Document } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import type { Column } from '../../components/data-table.tsx';
import { deleteColumn } from '../../components/delete-column.tsx';
import { NotAvailable } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ResourceList } from '../../components/resource-list.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { resourceType } from '../../schema/resource-types.ts';

export function SessionsPage() {
  const type = resourceType('console_sessions');
  return (
    <>
      <PageHead
        title="Console sessions"
        hint="Who is logged in to this console. A session also ends when its key is deleted."
      />
      {type === undefined ? (
        <NotAvailable what="The list of console sessions" />
      ) : (
        <ResourceList type={type} columns={COLUMNS} extraColumns={(reload) => deleteColumn(type, 'Revoke', reload)} />
      )}
    </>
  );
}

const COLUMNS: readonly Column<Document>[] = [
  {
    name: 'Who',
    class: 'col-wide',
    cell: (row) => (
      <span class="line">
        <span class="one-line" dir="auto">
          {textAt(row, 'name')}
        </span>
        {row['id'] === session.value?.id && <Chip tone="accent">this one</Chip>}
      </span>
    ),
  },
  { name: 'Role', class: 'middle', cell: (row) => textAt(row, 'role') || `logged in with a ${textAt(row, 'kind')}` },
  { name: 'From', class: 'low', cell: (row) => textAt(row, 'address') },
  { name: 'Since', class: 'middle col-time', cell: (row) => <Time at={row['created_at']} /> },
  { name: 'Last used', class: 'low col-time', cell: (row) => <Time at={row['last_used_at']} /> },
];

import { session } from '../../api/session-token.ts';
import type { Document } from '../../api/use-pages.ts';
import { AccountLink } from '../../components/account-link.tsx';
import { BrowserName } from '../../components/browser-name.tsx';
import { Chip } from '../../components/chip.tsx';
import type { Column } from '../../components/data-table.tsx';
import { deleteColumn } from '../../components/delete-column.tsx';
import { NotAvailable } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { ResourceList } from '../../components/resource-list.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import type { Reference } from '../../schema/load-by-ids.ts';
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
        <Who row={row} />
        {row['id'] === session.value?.id && <Chip tone="accent">this one</Chip>}
      </span>
    ),
  },
  { name: 'Role', class: 'middle', cell: (row) => textAt(row, 'role') || HOW[textAt(row, 'kind')] },
  {
    name: 'From',
    class: 'low',
    cell: (row) => <BrowserName userAgent={textAt(row, 'user_agent')} address={textAt(row, 'address')} />,
  },
  { name: 'Since', class: 'middle col-time', order: 'created_at', cell: (row) => <Time at={row['created_at']} /> },
  {
    name: 'Last used',
    class: 'low col-time',
    order: 'last_used_at',
    cell: (row) => <Time at={row['last_used_at']} />,
  },
];

/** For those who have the scopes of a key instead of a role. */
const HOW: Readonly<Record<string, string>> = {
  key: 'scopes of the API key',
  local: 'from the machine of the server',
};

/** A person has a page with their requests, and a key one with its scopes. */
function Who({ row }: { row: Document }) {
  const name = textAt(row, 'name');
  const subject = textAt(row, 'subject');
  if (subject !== '' && row['issuer'] === session.value?.identity_issuer)
    return <AccountLink accountId={subject} name={name} />;
  const key = row['api_key'] as Reference | null;
  return key ? <RefLink reference={key} name={name} /> : <span dir="auto">{name}</span>;
}

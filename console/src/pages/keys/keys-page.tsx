import type { Document } from '../../api/use-pages.ts';
import type { Column } from '../../components/data-table.tsx';
import { deleteColumn } from '../../components/delete-column.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { nameColumn } from '../../components/resource-list.tsx';
import { type ListTab, TabbedLists } from '../../components/tabbed-lists.tsx';
import { Time } from '../../components/time.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { textAt } from '../../format/text.ts';

const CREATED: Column<Document> = {
  name: 'Created',
  class: 'middle col-time',
  cell: (row) => <Time at={row['created_at']} />,
};
const ID: Column<Document> = { name: 'Id', class: 'low', cell: (row) => <span class="mono">{textAt(row, 'id')}</span> };

const TABS: readonly ListTab[] = [
  {
    tag: 'api_keys',
    name: 'API keys',
    purpose: 'A key lets a program or a person use the API and this console, as far as its scopes go.',
    columns: (type) => [
      nameColumn(type),
      { name: 'Scopes', cell: (row) => <ValueView value={row['scopes']} /> },
      CREATED,
      ID,
    ],
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke', reload),
  },
  {
    tag: 'credentials',
    name: 'Agent tokens',
    purpose:
      'Agents connect with a token. Invite an agent, or create a token here and set it as POSTERN_AUTHTOKEN on the machine of the agent.',
    columns: (type) => [
      nameColumn(type),
      { name: 'May bind', cell: (row) => <ValueView value={row['acl']} /> },
      CREATED,
      ID,
    ],
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke', reload),
  },
  {
    tag: 'agent_invitations',
    name: 'Agent invitations',
    purpose: 'A line for "postern agent join": an agent on another machine gets a token of its own with it.',
    form: { name: 'Invite an agent' },
    columns: (type) => [
      nameColumn(type),
      { name: 'May bind', cell: (row) => <ValueView value={row['acl']} /> },
      { name: 'Ends', class: 'middle col-time', cell: (row) => <Time at={row['expires_at']} /> },
      ID,
    ],
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke', reload),
  },
  { tag: 'service_accounts', name: 'Service accounts' },
  {
    tag: 'service_account_tokens',
    name: 'Account tokens',
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke', reload),
  },
];

export function KeysPage() {
  return (
    <>
      <PageHead
        title="Keys and tokens"
        hint="A secret is shown once, when it is created. Only a hash of it is stored."
      />
      <TabbedLists label="Kinds of keys" tabs={TABS} />
    </>
  );
}

import type { Document } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Time } from '../../components/time.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { personName } from './person-name.ts';

export const ACCOUNT_COLUMNS: readonly Column<Document>[] = [
  {
    name: 'Name',
    class: 'col-quarter',
    order: 'name',
    cell: (row) => (
      <a dir="auto" href={href(`/people/${textAt(row, 'id')}`)}>
        {personName(row)}
      </a>
    ),
  },
  { name: 'E-mail', class: 'middle', order: 'email', cell: (row) => <span dir="auto">{textAt(row, 'email')}</span> },
  { name: 'Groups', class: 'low', cell: (row) => <ValueView value={row['groups']} /> },
  { name: 'State', class: 'col-time', cell: (row) => <AccountState account={row} /> },
  { name: 'Passkeys', class: 'middle col-narrow number', cell: (row) => textAt(row, 'passkey_count') },
  {
    name: 'Last login',
    class: 'middle col-time',
    order: 'last_login_at',
    cell: (row) => <Time at={row['last_login_at']} empty="never" />,
  },
];

/** Whether the person can log in. */
export function AccountState({ account }: { account: Document }) {
  if (account['active'] === false) return <Chip tone="danger">disabled</Chip>;
  return account['passkey_count'] === 0 ? <Chip tone="warn">no passkey</Chip> : <Chip tone="ok">active</Chip>;
}

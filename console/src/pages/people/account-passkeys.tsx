import { request } from '../../api/request.ts';
import { areAllowed } from '../../api/scopes.ts';
import { type Document, usePages } from '../../api/use-pages.ts';
import { Chip } from '../../components/chip.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { PagedTable } from '../../components/paged-table.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { fillPath, itemPath } from '../../schema/paths.ts';
import { type ResourceType, resourceType } from '../../schema/resource-types.ts';
import { personName } from './person-name.ts';

interface AccountPasskeysProps {
  readonly accountId: string;
  readonly account: Document;
  readonly onChange: () => void;
}

/** With which devices a person logs in. */
export function AccountPasskeys(props: AccountPasskeysProps) {
  const type = resourceType('passkeys');
  // The number changes when the person's passkeys were removed with a new invitation.
  return type === undefined ? null : <Passkeys key={textAt(props.account, 'passkey_count')} type={type} {...props} />;
}

function Passkeys({ type, accountId, account, onChange }: AccountPasskeysProps & { type: ResourceType }) {
  const pages = usePages(fillPath(`${type.list.path}?limit=100`, { user_account_id: accountId }), type.listKey);
  const canRemove = type.remove !== null && areAllowed(type.remove.scopes);
  const remove: Column<Document> = {
    name: 'Action',
    class: 'col-button',
    cell: (row) => (
      <ConfirmButton
        name="Remove"
        label={`Remove the passkey ${textAt(row, 'name')}`}
        isSmall
        question={`Remove the passkey ${textAt(row, 'name').slice(0, 80)}?`}
        done="The passkey is removed."
        act={() => request('DELETE', itemPath(type, row) ?? '')}
        onDone={onChange}
      >
        <p>
          {personName(account)} can no longer log in with it, and it does not come back. Logins that were made with it
          stay: “Log out everywhere” ends them.
        </p>
        {pages.rows.length === 1 && (
          <p>It is the only one: without a passkey, the person needs a new invitation link.</p>
        )}
      </ConfirmButton>
    ),
  };
  return (
    <section class="stack-small" aria-label="Passkeys">
      <h2>Passkeys</h2>
      <PagedTable
        label="Passkeys of the person"
        pages={pages}
        columns={[...COLUMNS, ...(canRemove ? [remove] : [])]}
        empty={
          <EmptyState title="No passkeys">
            <p>The person registers one with the link of an invitation.</p>
          </EmptyState>
        }
      />
    </section>
  );
}

const COLUMNS: readonly Column<Document>[] = [
  {
    name: 'Name',
    class: 'col-wide',
    cell: (row) => (
      <span class="line">
        <span class="one-line" dir="auto">
          {textAt(row, 'name')}
        </span>
        {row['backed_up'] === true && <Chip title="The authenticator copies it to other devices.">synced</Chip>}
      </span>
    ),
  },
  { name: 'Registered', class: 'middle col-time', cell: (row) => <Time at={row['created_at']} /> },
  { name: 'Last used', class: 'col-time', cell: (row) => <Time at={row['last_used_at']} empty="never" /> },
  { name: 'Host', class: 'low', cell: (row) => textAt(row, 'host') },
];

import type { ComponentChildren } from 'preact';
import { session } from '../../api/session-token.ts';
import { Chip } from '../../components/chip.tsx';
import { deleteColumn } from '../../components/delete-column.tsx';
import type { FormValue } from '../../components/form/schema-form.tsx';
import { nameColumn } from '../../components/resource-list.tsx';
import type { ListTab } from '../../components/tabbed-lists.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { textAt } from '../../format/text.ts';
import { ACCOUNT_COLUMNS } from './account-columns.tsx';

/** People of the identity host, and the applications that use it. */
export function identityTabs(): readonly ListTab[] {
  const issuer = session.value?.identity_issuer;
  const off = issuer === null ? { purpose: OFF, hint: OFF, form: null } : {};
  return [
    {
      tag: 'user_accounts',
      name: 'Accounts',
      purpose: 'Add a person, and give them the link. They register a passkey with it, and can then log in.',
      form: { name: 'Add a person', without: ['active'], sentences: newPerson },
      columns: () => ACCOUNT_COLUMNS,
      ...off,
    },
    {
      tag: 'oidc_clients',
      name: 'Applications',
      purpose: 'Add an application that knows OpenID Connect. People then log in to it with their account here.',
      hint: issuerHint(issuer),
      form: { name: 'Add an application' },
      columns: (type) => [
        { ...nameColumn(type), class: 'col-quarter' },
        { name: 'Client ID', class: 'low', cell: (row) => <span class="mono">{textAt(row, 'client_id')}</span> },
        { name: 'Open to', cell: (row) => <AllowedGroups groups={row['allow_groups']} /> },
        { name: 'Returns to', class: 'low', cell: (row) => <ValueView value={row['redirect_uris']} /> },
      ],
      extraColumns: (type, reload) => deleteColumn(type, 'Delete', reload),
      ...off,
    },
  ];
}

/** What happens when the account is made. */
function newPerson(value: FormValue): readonly string[] {
  const [email, name, description, metadata] = (['email', 'name', 'description', 'metadata'] as const).map((field) =>
    textAt(value, field).trim(),
  );
  const groups = Array.isArray(value['groups']) ? value['groups'].filter((group) => group !== '') : [];
  return [
    name === '' ? `${email} gets an account here.` : `${name} (${email}) gets an account here.`,
    groups.length === 0
      ? 'They are in no group: they may enter where everybody with an account, or their address, may.'
      : `They are in ${groups.length === 1 ? 'the group' : 'the groups'} ${groups.join(', ')}.`,
    'You get a link for them, once. With it they register a passkey, and can then log in.',
    ...(description === '' ? [] : [`Description: ${description}`]),
    ...(metadata === '' ? [] : [`Metadata: ${metadata}`]),
  ];
}

const OFF: ComponentChildren = (
  <>
    Nobody can log in here, because this server has no identity host: set <code>identity_host</code> (
    <code>POSTERN_IDENTITY_HOST</code>) to a host name of your own, such as <code>id.example.com</code>, and start the
    server again.
  </>
);

function issuerHint(issuer: string | null | undefined): ComponentChildren {
  if (typeof issuer !== 'string') return undefined;
  return (
    <>
      Applications use the issuer <code>{issuer}</code>.
    </>
  );
}

function AllowedGroups({ groups }: { groups: unknown }) {
  if (!Array.isArray(groups) || groups.length === 0) return <Chip tone="warn">nobody</Chip>;
  return groups.includes('*') ? <Chip>everybody</Chip> : <ValueView value={groups} />;
}

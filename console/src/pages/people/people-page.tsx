import { session } from '../../api/session-token.ts';
import type { Document } from '../../api/use-pages.ts';
import { deleteColumn } from '../../components/delete-column.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { type Reference, RefLink } from '../../components/ref-link.tsx';
import { nameColumn } from '../../components/resource-list.tsx';
import { type ListTab, TabbedLists } from '../../components/tabbed-lists.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { href } from '../../router/location.ts';
import { identityTabs } from './identity-tabs.tsx';

const TABS: readonly ListTab[] = [
  {
    tag: 'app_users',
    name: 'Logged in',
    hint: 'Names and addresses are those of the last login.',
    purpose:
      'Everybody who logged in on a route with a login module appears here. Add the OIDC or the OAuth module to a route.',
    columns: (type) => [
      nameColumn(type),
      { name: 'E-mail', cell: (row) => <span dir="auto">{textAt(row, 'email')}</span> },
      { name: 'Provider', class: 'low', cell: (row) => <ProviderOf user={row} /> },
      { name: 'Last active', class: 'middle col-time', cell: (row) => <Time at={row['last_active']} /> },
    ],
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke all', reload),
  },
  {
    tag: 'app_sessions',
    name: 'Login sessions',
    purpose: 'A session begins when somebody logs in on a route with a login module.',
    columns: () => [
      {
        name: 'Where',
        class: 'col-wide',
        cell: (row) => <span dir="auto">{textAt(row, 'public_url')}</span>,
      },
      {
        name: 'Person',
        cell: (row) => <RefLink reference={row['application_user'] as Reference | null} />,
      },
      { name: 'Browser', class: 'low', cell: (row) => browserOf(row) },
      { name: 'Since', class: 'middle col-time', cell: (row) => <Time at={row['created_at']} /> },
      { name: 'Last active', class: 'middle col-time', cell: (row) => <Time at={row['last_active']} /> },
    ],
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke', reload),
  },
  {
    tag: 'guest_links',
    name: 'Guest links',
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke', reload),
  },
];

export function PeoplePage() {
  const isOff = session.value?.identity_issuer === null;
  // Where people log in elsewhere, accounts are of little interest.
  const all = isOff ? [...TABS, ...identityTabs()] : [...identityTabs(), ...TABS];
  return (
    <>
      <PageHead
        title="People"
        hint="Who can log in, who did, where and since when. A revoked session ends at once, with its open streams."
      />
      <TabbedLists label="People and sessions" tabs={all} />
    </>
  );
}

/** People of the identity host have an account, which others have elsewhere. */
function ProviderOf({ user }: { user: Document }) {
  const provider = user['identity_provider'] as { name?: string; url?: string } | undefined;
  const name = provider?.url || provider?.name || '';
  if (name === '' || name !== session.value?.identity_issuer) return <>{name}</>;
  return <a href={href(`/people/${encodeURIComponent(textAt(user, 'provider_user_id'))}`)}>Account as of now</a>;
}

function browserOf(row: Document): string {
  const browser = row['browser_session'] as { ip_address?: string; user_agent?: { raw?: string } } | undefined;
  return `${browser?.ip_address ?? ''} ${browser?.user_agent?.raw ?? ''}`.trim();
}

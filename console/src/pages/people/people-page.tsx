import { session } from '../../api/session-token.ts';
import type { Document } from '../../api/use-pages.ts';
import { BrowserName } from '../../components/browser-name.tsx';
import { deleteColumn } from '../../components/delete-column.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { PersonLink } from '../../components/person-link.tsx';
import { RefLink } from '../../components/ref-link.tsx';
import { type ListTab, TabbedLists } from '../../components/tabbed-lists.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import type { Reference } from '../../schema/load-by-ids.ts';
import { identityTabs } from './identity-tabs.tsx';

const TABS: readonly ListTab[] = [
  {
    tag: 'app_sessions',
    name: 'Logged in',
    hint: 'Who is logged in on a site now. A person with two browsers is here twice.',
    purpose: 'Everybody who logs in on a site appears here, until the login ends. Let a site ask for a login first.',
    columns: () => [
      {
        name: 'Person',
        class: 'col-quarter',
        cell: (row) => <PersonLink user={(row['application_user'] as Reference | null)?.id} />,
      },
      { name: 'Site', cell: (row) => <RefLink reference={row['edge'] as Reference | null} /> },
      { name: 'Browser', class: 'low', cell: (row) => <BrowserOf row={row} /> },
      { name: 'Since', class: 'middle col-time', order: 'created_at', cell: (row) => <Time at={row['created_at']} /> },
      { name: 'Last active', class: 'middle col-time', cell: (row) => <Time at={row['last_active']} /> },
    ],
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke', reload),
  },
  {
    tag: 'app_users',
    name: 'Past logins',
    hint: 'Everybody who ever logged in on a site, also if they no longer may. Names are those of the last login.',
    purpose: 'Everybody who logs in on a site appears here, and stays. Let a site ask for a login first.',
    columns: () => [
      { name: 'Name', class: 'col-wide', order: 'name', cell: (row) => <PersonLink user={textAt(row, 'id')} /> },
      { name: 'Provider', class: 'low', cell: (row) => <ProviderOf user={row} /> },
      {
        name: 'Last active',
        class: 'middle col-time',
        order: 'last_active',
        cell: (row) => <Time at={row['last_active']} />,
      },
    ],
    extraColumns: (type, reload) => deleteColumn(type, 'Revoke all', reload),
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
  return <>this server</>;
}

function BrowserOf({ row }: { row: Document }) {
  const browser = row['browser_session'] as { ip_address?: string; user_agent?: { raw?: string } } | undefined;
  return <BrowserName userAgent={browser?.user_agent?.raw ?? ''} address={browser?.ip_address ?? ''} />;
}

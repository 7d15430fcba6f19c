import { request } from '../../api/request.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { Facts } from '../../components/facts.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { NotAvailable } from '../../components/notice.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Time } from '../../components/time.tsx';
import { ValueView } from '../../components/value-view.tsx';
import { textAt } from '../../format/text.ts';
import { fillPath } from '../../schema/paths.ts';
import { type ResourceType, resourceType } from '../../schema/resource-types.ts';
import type { PageProps } from '../page-props.ts';
import { AccountActions } from './account-actions.tsx';
import { AccountState } from './account-columns.tsx';
import { AccountPasskeys } from './account-passkeys.tsx';
import { personName } from './person-name.ts';
import { AccountTraffic } from './person-traffic.tsx';

/** A person with an account of the identity host. */
export function AccountPage({ params }: PageProps) {
  const type = resourceType('user_accounts');
  const path = type?.get === null || type === undefined ? null : fillPath(type.get.path, { id: params['id'] ?? '' });
  if (type === undefined || path === null) return <NotAvailable what="This page" />;
  return <OneAccount type={type} path={path} id={params['id'] ?? ''} />;
}

function OneAccount({ type, path, id }: { type: ResourceType; path: string; id: string }) {
  const loaded = useLoaded(path, (abort) => request<Document>('GET', path, { abort }));
  const { data: answer, reload } = loaded;
  return (
    <>
      <PageHead
        title={answer === null ? 'Person' : personName(answer.data)}
        hint="A person who logs in at the identity host."
        crumbs={[['Accounts', '/people?tab=user_accounts']]}
      >
        {answer !== null && <AccountActions type={type} path={path} answer={answer} onChange={reload} />}
      </PageHead>
      <LoadedView loaded={loaded} what="This page">
        {({ data }) => (
          <>
            <section class="card" aria-label="Account">
              <div class="body">
                <Facts rows={factsOf(data)} />
              </div>
            </section>
            <AccountPasskeys accountId={id} account={data} onChange={reload} />
            <AccountTraffic accountId={id} />
          </>
        )}
      </LoadedView>
    </>
  );
}

function factsOf(account: Document) {
  const texts = (['description', 'metadata'] as const).flatMap((name) => {
    const text = textAt(account, name);
    return text === '' ? [] : [[name === 'metadata' ? 'Metadata' : 'Description', text] as const];
  });
  return [
    ['State', <AccountState key="state" account={account} />],
    ['E-mail', textAt(account, 'email')],
    ['Name', <ValueView key="name" value={account['name']} />],
    ['Groups', <ValueView key="groups" value={account['groups']} />],
    ['Last login', <Time key="login" at={account['last_login_at']} empty="never" />],
    ['Created', <Time key="created" at={account['created_at']} />],
    ...texts,
    [
      'ID',
      <span key="id" class="mono">
        {textAt(account, 'id')}
      </span>,
    ],
  ] as const;
}

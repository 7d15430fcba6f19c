import { useEffect } from 'preact/hooks';
import { get } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { session } from '../../api/session-token.ts';
import { useLoaded } from '../../api/use-loaded.ts';
import type { Document } from '../../api/use-pages.ts';
import { Facts } from '../../components/facts.tsx';
import { LoadedView } from '../../components/loaded-view.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { Time } from '../../components/time.tsx';
import { textAt } from '../../format/text.ts';
import { navigate } from '../../router/location.ts';
import type { PageProps } from '../page-props.ts';
import { AccountPage } from './account-page.tsx';
import { PersonTraffic } from './person-traffic.tsx';

/**
 * A person has an account here (`ua_…`), or logged in with a provider (`au_…`): one page, under the id of the account
 * if there is one.
 */
export function PersonPage({ params }: PageProps) {
  const id = params['id'] ?? '';
  return id.startsWith('au_') ? <LoginPerson id={id} /> : <AccountPage params={params} />;
}

function LoginPerson({ id }: { id: string }) {
  const path = `/app/users/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, (abort) => get<Document>(path, abort));
  const account = loaded.data === null ? '' : accountOf(loaded.data);
  useEffect(() => {
    if (account !== '') navigate(`/people/${encodeURIComponent(account)}`, { replace: true });
  }, [account]);
  const name = loaded.data === null ? 'Person' : textAt(loaded.data, 'name') || textAt(loaded.data, 'email');
  return (
    <>
      <PageHead title={name || 'Person'} hint="A person who logged in on a site." crumbs={[['People', '/people']]} />
      <LoadedView loaded={loaded} what="This person">
        {(user) => (
          <>
            <section class="card" aria-label="Person">
              <div class="body">
                <Facts
                  rows={[
                    ['E-mail', textAt(user, 'email') || '–'],
                    ['Logs in at', (user['identity_provider'] as { url?: string } | undefined)?.url ?? '–'],
                    ['Last login', <Time key="login" at={user['last_login']} />],
                    ['Last active', <Time key="active" at={user['last_active']} />],
                  ]}
                />
              </div>
            </section>
            <PersonTraffic user={id} />
          </>
        )}
      </LoadedView>
    </>
  );
}

/** The id of the account here; empty: the person logs in elsewhere, or this session may not see accounts. */
function accountOf(user: Document): string {
  const provider = user['identity_provider'] as { url?: string } | undefined;
  const isOwn = provider?.url !== undefined && provider.url === session.value?.identity_issuer;
  return isOwn && isAllowed('user_accounts:read') ? textAt(user, 'provider_user_id') : '';
}

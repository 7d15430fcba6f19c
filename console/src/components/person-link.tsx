import { href } from '../router/location.ts';
import { useName } from './use-name.ts';

/**
 * Where the API has those who make requests. A workload is named by its subject, and somebody with a password by the
 * name.
 */
const PATHS: Readonly<Record<string, string>> = {
  user: '/app/users',
  service_account: '/service_accounts',
  guest: '/guest_links',
};

interface PersonLinkProps {
  /** As a request names them: an id, or the subject of a workload. */
  readonly user: string | null | undefined;
  readonly kind?: string | null | undefined;
}

/** Who made a request, by name and address, never by an id that means nothing to people. */
export function PersonLink({ user, kind = 'user' }: PersonLinkProps) {
  // A name of basic_auth is no id: there is nobody to look up.
  const isName = (kind ?? 'user') === 'user' && !user?.startsWith('au_');
  const path = isName ? undefined : PATHS[kind ?? 'user'];
  const name = useName(user && path !== undefined ? { id: user, uri: `${path}/${encodeURIComponent(user)}` } : null);
  if (!user) return null;
  if (path === undefined)
    return (
      <a dir="auto" href={href(`/traffic?user=${encodeURIComponent(user)}`)} title="Requests under this name">
        {user}
      </a>
    );
  const text = <span dir="auto">{name ?? UNKNOWN[kind ?? 'user']}</span>;
  if (kind === 'guest') return <a href={href('/people?tab=guest_links')}>{text}</a>;
  if (kind === 'service_account') return <a href={href('/keys?tab=service_accounts')}>{text}</a>;
  return (
    <a href={href(`/people/${encodeURIComponent(user)}`)} title={name ?? ''}>
      {text}
    </a>
  );
}

const UNKNOWN: Readonly<Record<string, string>> = {
  user: 'somebody who logged in',
  service_account: 'a service account',
  guest: 'a guest',
};

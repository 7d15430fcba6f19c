import { href } from '../router/location.ts';
import { useName } from './use-name.ts';

interface AccountLinkProps {
  readonly accountId: string;
  /** While the account is not known, or if it is gone. */
  readonly name: string;
}

/** A person with an account of the identity host: the page has their logins and requests. */
export function AccountLink({ accountId, name }: AccountLinkProps) {
  const id = encodeURIComponent(accountId);
  const known = useName({ id: accountId, uri: `/user_accounts/${id}` });
  return (
    <a dir="auto" href={href(`/people/${id}`)}>
      {known ?? name}
    </a>
  );
}

import { session } from '../../api/session-token.ts';
import { href } from '../../router/location.ts';
import type { Change } from './change-record.ts';

/** Who made a change: a person of the identity host has a page, and so does the list of keys. */
export function AuthorName({ author }: Pick<Change, 'author'>) {
  const { kind, id, name, address, issuer, subject = '' } = author;
  if (kind === 'server') return <>the server</>;
  const isOwn = kind === 'person' && issuer === session.value?.identity_issuer && subject !== '';
  const page = isOwn ? `/people/${encodeURIComponent(subject)}` : kind === 'api_key' ? '/keys?tab=api_keys' : null;
  const text = name || id;
  return (
    <span dir="auto" class={address === null ? '' : 'in-text'} title={address === null ? id : `${id} from ${address}`}>
      {page === null ? text : <a href={href(page)}>{text}</a>}
      {address !== null && <span class="muted"> from {address}</span>}
    </span>
  );
}

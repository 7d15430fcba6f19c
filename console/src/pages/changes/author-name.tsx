import { useName } from '../../components/use-name.ts';
import type { Change } from './change-record.ts';

/** A person has a name already. An API key is known by its description. */
export function AuthorName({ author }: Pick<Change, 'author'>) {
  const isKey = author.kind === 'api_key';
  const key = useName(isKey ? { id: author.id, uri: `/api_keys/${author.id}` } : null);
  if (author.kind === 'server') return <>the server</>;
  const name = key ?? author.id;
  return (
    <span dir="auto" title={author.id}>
      {author.address === null ? name : `${name} from ${author.address}`}
    </span>
  );
}

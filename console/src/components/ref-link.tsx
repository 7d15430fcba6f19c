import { href } from '../router/location.ts';
import type { Reference } from '../schema/load-by-ids.ts';
import { pageFor } from '../schema/paths.ts';
import { useName } from './use-name.ts';

interface RefLinkProps {
  readonly reference: Reference | null | undefined;
  /** Known to the page already. */
  readonly name?: string;
}

/** The name of a document, or its id while the name is not known. */
export function RefLink({ reference, name }: RefLinkProps) {
  const found = useName(name === undefined ? reference : null);
  if (!reference) return <span class="muted">–</span>;
  const page = pageFor(reference.uri);
  const known = name ?? found;
  const text = <span dir="auto">{known ?? reference.id}</span>;
  const look = known === null ? 'mono' : '';
  if (page === null)
    return (
      <span class={look} title={reference.id}>
        {text}
      </span>
    );
  return (
    <a href={href(page)} class={look} title={reference.id}>
      {text}
    </a>
  );
}

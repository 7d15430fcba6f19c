import { href } from '../router/location.ts';
import { pageFor } from '../schema/paths.ts';

export interface Reference {
  readonly id: string;
  readonly uri: string;
}

export function RefLink({ reference, name }: { reference: Reference | null | undefined; name?: string }) {
  if (!reference) return <span class="muted">–</span>;
  const page = pageFor(reference.uri);
  const text = name ?? reference.id;
  if (page === null) return <span class="mono">{text}</span>;
  return (
    <a href={href(page)} class={name === undefined ? 'mono' : ''} title={reference.id}>
      {text}
    </a>
  );
}

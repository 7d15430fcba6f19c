import { get } from '../api/request.ts';
import { useLoaded } from '../api/use-loaded.ts';
import type { Document } from '../api/use-pages.ts';
import { type Reference, RefLink } from '../components/ref-link.tsx';
import { documentName } from '../schema/document-name.ts';
import { resourceAt } from '../schema/paths.ts';
import type { ModuleViewProps } from './registry.tsx';

export function BackendView({ config }: ModuleViewProps) {
  const reference = config['backend'] as Reference | null | undefined;
  const path = reference ? new URL(reference.uri, location.origin).pathname : '';
  const { data, error } = useLoaded(path, (abort) =>
    path === '' ? Promise.resolve(null) : get<Document>(path, abort),
  );
  if (!reference) return <p class="muted">No backend.</p>;
  const kind = resourceAt(reference.uri)?.type.title ?? 'Backend';
  return (
    <p>
      {kind}: <RefLink reference={reference} name={data === null ? reference.id : documentName(data)} />
      {error?.isNotFound === true && ' (it no longer exists)'}
    </p>
  );
}

import { type Reference, RefLink } from '../components/ref-link.tsx';
import { resourceAt } from '../schema/paths.ts';
import type { ModuleViewProps } from './registry.tsx';

export function BackendView({ config }: ModuleViewProps) {
  const reference = config['backend'] as Reference | null | undefined;
  if (!reference) return <p class="muted">No backend.</p>;
  const kind = resourceAt(reference.uri)?.type.title ?? 'Backend';
  return (
    <p>
      {kind}: <RefLink reference={reference} />
    </p>
  );
}

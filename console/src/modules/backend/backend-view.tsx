import { RefLink } from '../../components/ref-link.tsx';
import type { Reference } from '../../schema/load-by-ids.ts';
import { resourceAt } from '../../schema/paths.ts';
import type { ModuleViewProps } from '../module-view.ts';

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

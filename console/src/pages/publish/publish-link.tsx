import { areAllowed } from '../../api/scopes.ts';
import { href } from '../../router/location.ts';

/** Edges and backends are part of every site. */
export function canPublish(): boolean {
  return areAllowed(['edges:write', 'backends:write']);
}

/** The one thing that most people come for. */
export function PublishLink() {
  if (!canPublish()) return null;
  return (
    <a class="button primary" href={href('/publish')}>
      Publish
    </a>
  );
}

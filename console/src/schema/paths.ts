import { SITE_EDGE, SITE_ROUTE } from '../../../src/client/sites.ts';
import type { Document } from '../api/use-pages.ts';
import { type ResourceType, resourceTypes } from './resource-types.ts';

/** `/edges/https/{edge_id}/routes/{id}` with the ids filled in. */
export function fillPath(pattern: string, values: Readonly<Record<string, string>>): string {
  return pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
}

/** Path of the API for this document: from its own URI, or from its id. */
export function itemPath(type: ResourceType, document: Document): string | null {
  if (typeof document['uri'] === 'string') return new URL(document['uri'], location.origin).pathname;
  const pattern = type.get?.path;
  const id = document['id'];
  if (pattern === undefined || typeof id !== 'string') return null;
  return fillPath(pattern, { ...textFields(document), id });
}

function textFields(document: Document): Record<string, string> {
  return Object.fromEntries(
    Object.entries(document).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

export interface Found {
  readonly type: ResourceType;
  readonly ids: Readonly<Record<string, string>>;
}

/** Which resource an address of the API names. */
export function resourceAt(uri: string): Found | null {
  const path = new URL(uri, location.origin).pathname;
  for (const type of resourceTypes.value) {
    if (type.get === null) continue;
    const names = Array.from(type.get.path.matchAll(/\{(\w+)\}/g), ([, name]) => name ?? '');
    const pattern = new RegExp(`^${type.get.path.replace(/\{\w+\}/g, '([^/]+)')}$`);
    const match = pattern.exec(path);
    if (match === null) continue;
    const ids = Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(match[index + 1] ?? '')]));
    return { type, ids };
  }
  return null;
}

/** Page of the console for an address of the API; null if it has none. */
export function pageFor(uri: string): string | null {
  const found = resourceAt(uri);
  if (found === null) return null;
  const { type, ids } = found;
  // The page that people use; it leads to the routes and modules.
  if (type.tag === SITE_EDGE.resource) return `/sites/${ids['id']}`;
  if (type.tag === SITE_ROUTE.resource) return `/edges/${ids['edge_id']}/routes/${ids['id']}`;
  if (type.tag === 'user_accounts' || type.tag === 'app_users') return `/people/${ids['id']}`;
  if (type.tag === 'passkeys') return `/people/${ids['user_account_id']}`;
  if (type.tag === 'requests') return `/traffic/${ids['id']}`;
  if (type.tag === 'changes') return `/changes/${ids['revision']}`;
  const path = new URL(uri, location.origin).pathname;
  return `/resources/${type.tag}/item?path=${encodeURIComponent(path)}`;
}

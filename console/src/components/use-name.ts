import { effect, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { SITE_ROUTE, siteEdgePath } from '../../../src/client/sites.ts';
import { session } from '../api/session-token.ts';
import type { Document } from '../api/use-pages.ts';
import { textAt } from '../format/text.ts';
import { backendText } from '../modules/backend/backend-text.ts';
import { documentName } from '../schema/document-name.ts';
import { loadByIds, type Reference } from '../schema/load-by-ids.ts';
import { resourceAt } from '../schema/paths.ts';

/** A name that was changed elsewhere shows when its page is opened again. */
const KEPT_MS = 15_000;

const names = signal<ReadonlyMap<string, string>>(new Map());
const askedAt = new Map<string, number>();
let waiting: Reference[] = [];

/** The next session may know less. */
effect(() => {
  if (session.value) return;
  askedAt.clear();
  names.value = new Map();
});

/**
 * What people call a document; null: not known yet, or it has no name. References of one page are asked for together.
 */
export function useName(reference: Reference | null | undefined): string | null {
  const id = reference?.id ?? '';
  useEffect(() => {
    if (!reference || Date.now() - (askedAt.get(id) ?? 0) < KEPT_MS) return;
    askedAt.set(id, Date.now());
    if (waiting.length === 0) setTimeout(() => void askForAll(), 0);
    waiting.push(reference);
  }, [id]);
  return names.value.get(id) ?? null;
}

async function askForAll(): Promise<void> {
  const asked = waiting;
  waiting = [];
  // A route is named by its edge, which has the hosts and all routes.
  const edges = new Map(asked.map((reference) => [reference.id, edgeOf(reference)]));
  const found = await loadByIds(asked.map((each) => edges.get(each.id) ?? each)).catch(() => null);
  if (found === null) {
    for (const { id } of asked) askedAt.delete(id);
    return;
  }
  const named = asked.flatMap(({ id }): readonly [string, string][] => {
    const edge = edges.get(id) ?? null;
    const name = edge === null ? nameOf(found.get(id), id) : routeName(found.get(edge.id), id);
    return name === null ? [] : [[id, name]];
  });
  names.value = new Map([...names.value, ...named]);
}

function edgeOf({ uri }: Reference): Reference | null {
  const found = resourceAt(uri);
  const id = found?.type.tag === SITE_ROUTE.resource ? found.ids['edge_id'] : undefined;
  return id === undefined ? null : { id, uri: siteEdgePath(encodeURIComponent(id)) };
}

function nameOf(document: Document | undefined, id: string): string | null {
  if (document === undefined) return null;
  const subject = textAt(document, 'provider_user_id');
  const [person, email] = [textAt(document, 'name') || textAt(document, 'username'), textAt(document, 'email')];
  if (email === '' && person === '' && subject !== '') return subject;
  if (email !== '') return person === '' || person === email ? email : `${person} (${email})`;
  // A backend without a description still goes somewhere.
  const name = [documentName(document), backendText(document)].find((each) => each !== id);
  return name ?? null;
}

/** "app.example.com/docs". */
function routeName(edge: Document | undefined, id: string): string | null {
  const routes = (edge?.['routes'] ?? []) as readonly Document[];
  const route = routes.find((each) => each['id'] === id);
  return edge === undefined || route === undefined ? null : `${documentName(edge)}${textAt(route, 'match')}`;
}

import type { FilesBackend } from '../../../../src/client/generated/files-backends.ts';
import { isProtected } from '../../../../src/client/publish/edge-login.ts';
import { edgeUrl, listenerPort, planEdge } from '../../../../src/client/publish/plan-edge.ts';
import type { WantedEdge } from '../../../../src/client/publish/wanted-edge.ts';
import { SITE_EDGE, type SiteEdge, type SiteEdges } from '../../../../src/client/sites.ts';
import { get, request } from '../../api/request.ts';
import { isAllowed } from '../../api/scopes.ts';
import { session } from '../../api/session-token.ts';
import type { ServerFacts } from './draft.ts';

type Current = Parameters<typeof planEdge>[1];

export interface Published {
  readonly revision: number;
  readonly edgeId: string;
  /** Shown only once. */
  readonly guestUrl: string | null;
}

interface Result {
  readonly body: { readonly id?: string; readonly url?: string; readonly hostports?: unknown } | null;
}

export async function loadFacts(): Promise<ServerFacts> {
  const settings = isAllowed('settings:read')
    ? (await get<{ settings: Parameters<typeof listenerPort>[0] }>('/settings')).settings
    : [];
  return { listenerPort: listenerPort(settings), ownIssuer: session.value?.identity_issuer ?? null };
}

/** The edge that serves the host already; null: none. */
export async function edgeWith(host: string, port: number, abort?: AbortSignal): Promise<SiteEdge | null> {
  const names = [...new Set([`${host}:${port}`, `${host}:443`])].map(
    (each) => `${JSON.stringify(each)} in obj.hostports`,
  );
  const filter = encodeURIComponent(names.join(' || '));
  const page = await get<SiteEdges<SiteEdge>>(`${SITE_EDGE.path}?limit=1&filter=${filter}`, abort);
  return page[SITE_EDGE.resource][0] ?? null;
}

/** A site of its own takes a host away from the wildcard above it, with the login there. */
export async function wildcardWarning(wanted: WantedEdge): Promise<string | null> {
  const { host, listenerPort, login, addresses, guests } = wanted;
  if (login !== null || addresses !== undefined || guests !== undefined || !host.includes('.')) return null;
  const above = `*${host.slice(host.indexOf('.'))}`;
  const edge = await edgeWith(above, listenerPort);
  if (edge === null || !isProtected(edge)) return null;
  return `${above} serves ${host} now, with a login or other rules. The new site does not have them.`;
}

/** All of it in one change. A rehearsal stores nothing. */
export async function publish(wanted: WantedEdge, { isRehearsal }: { isRehearsal: boolean }): Promise<Published> {
  const { operations } = planEdge(wanted, await currentFor(wanted));
  const { data } = await request<{ revision: number; results: readonly Result[] }>('POST', '/changesets', {
    body: { operations, dry_run: isRehearsal, message: `publish ${wanted.host}` },
  });
  const bodies = data.results.map(({ body }) => body);
  return {
    revision: data.revision,
    edgeId: bodies.find((body) => body?.hostports !== undefined)?.id ?? '',
    guestUrl: bodies.find((body) => typeof body?.url === 'string')?.url ?? null,
  };
}

/** What the plan compares with. The server rejects a host that is taken, so edges are not needed. */
export async function currentFor({ target }: WantedEdge): Promise<Current> {
  if (!isAllowed('backends:read')) return { edges: [], backends: [] };
  if (target.kind === 'folder') {
    const named = encodeURIComponent(`obj.folder == ${JSON.stringify(target.folder)}`);
    const { backends: folders } = await get<{ backends: readonly FilesBackend[] }>(`/backends/files?filter=${named}`);
    return { edges: [], backends: [], folders };
  }
  if (target.kind !== 'address') return { edges: [], backends: [] };
  const filter = encodeURIComponent(`obj.address == ${JSON.stringify(target.address)}`);
  return { edges: [], backends: (await get<Pick<Current, 'backends'>>(`/backends/static?filter=${filter}`)).backends };
}

export function urlOf(wanted: WantedEdge): string {
  return edgeUrl(wanted, { edge: null });
}

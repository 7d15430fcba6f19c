import type { HttpsEdge } from '../../../client/generated/https-edges.ts';
import type { Transport } from '../../../client/transport.ts';
import { type Finding, type Findings, findingsOf } from '../finding.ts';
import type { LiveInstallation } from '../installation.ts';
import { mapConcurrently } from '../map-concurrently.ts';
import { publicProvider } from '../public-providers.ts';

/** Edges and routes that reject everything, have no backend, or admit everybody. */
export async function checkRoutes({
  edges,
  transport,
}: Pick<LiveInstallation, 'edges' | 'transport'>): Promise<readonly Finding[]> {
  const found = findingsOf('routes');
  await mapConcurrently(edges, (edge) => checkEdge(edge, transport, found));
  return found.list;
}

async function checkEdge(edge: HttpsEdge, transport: Transport, found: Findings): Promise<void> {
  const before = found.list.length;
  const place = `/edges/https/${edge.id}`;
  const name = `${edge.id} (${edge.hostports[0] ?? 'no host'})`;
  // Reports whether anything below it has a problem: only then is each module queried.
  if ((await problemAt(place, transport)) !== null) {
    await checkModules({ place, name, owner: edge }, transport, found);
    for (const route of edge.routes)
      await checkModules(
        { place: `${place}/routes/${route.id}`, name: nameOf(edge, route), owner: route },
        transport,
        found,
      );
  }
  if (edge.hostports.length === 0) found.hint(`${edge.id} has no hosts: it receives no requests`);
  if (edge.routes.length === 0) found.hint(`${name} has no routes: every request gets 404`);
  for (const route of edge.routes) {
    if (route.backend?.enabled !== true) {
      found.warning(
        `${nameOf(edge, route)} has no backend: its requests get 503`,
        `set one: postern api backend replace --edge ${edge.id} --route ${route.id} --backend-id ID`,
      );
    }
    const provider = route.oidc?.enabled === true ? publicProvider(route.oidc.issuer) : null;
    if (provider !== null) {
      found.warning(
        `${nameOf(edge, route)} admits anyone with an account at ${provider}`,
        'use a provider or tenant with only your own users, or check the identity headers upstream',
      );
    }
  }
  if (found.list.length === before) found.ok(`${name} and its ${edge.routes.length} routes can be served`);
}

interface Owner {
  readonly place: string;
  readonly name: string;
  readonly owner: object;
}

async function checkModules({ place, name, owner }: Owner, transport: Transport, found: Findings): Promise<void> {
  for (const [module, value] of Object.entries(owner) as [string, unknown][]) {
    const isEnabled = typeof value === 'object' && value !== null && 'enabled' in value && value.enabled === true;
    const problem = isEnabled ? await problemAt(`${place}/${module}`, transport) : null;
    if (problem !== null)
      found.problem(
        `${name} rejects all traffic: ${problem}`,
        `repair the module, or delete it: DELETE ${place}/${module}`,
      );
  }
}

async function problemAt(path: string, transport: Transport): Promise<string | null> {
  return (await transport.send({ method: 'GET', path })).info.problem;
}

function nameOf(edge: HttpsEdge, route: HttpsEdge['routes'][number]): string {
  return `${route.id} (${edge.hostports[0] ?? 'no host'} ${route.match})`;
}

import type { Facts, UnpreparedModule } from '../../checks/facts.ts';
import type { HttpsEdge } from '../../client/generated/https-edges.ts';
import type { Transport } from '../../client/transport.ts';
import { mapConcurrently } from './map-concurrently.ts';

/** Modules that reject all traffic, by the id of their edge or route, from the API's `Postern-Problem`. */
export async function readUnprepared(edges: readonly HttpsEdge[], transport: Transport): Promise<Facts['unprepared']> {
  const found = new Map<string, readonly UnpreparedModule[]>();
  await mapConcurrently(edges, async (edge) => {
    const place = `/edges/https/${edge.id}`;
    // Reports whether anything below it has a problem: only then is each module queried.
    if ((await problemAt(place, transport)) === null) return;
    found.set(edge.id, await unpreparedOf(edge, place, transport));
    for (const route of edge.routes)
      found.set(route.id, await unpreparedOf(route, `${place}/routes/${route.id}`, transport));
  });
  return (ownerId) => found.get(ownerId) ?? [];
}

async function unpreparedOf(owner: object, place: string, transport: Transport): Promise<readonly UnpreparedModule[]> {
  const unprepared: UnpreparedModule[] = [];
  for (const [module, value] of Object.entries(owner) as [string, unknown][]) {
    const isEnabled = typeof value === 'object' && value !== null && 'enabled' in value && value.enabled === true;
    const line = isEnabled ? await problemAt(`${place}/${module}`, transport) : null;
    if (line !== null) unprepared.push({ module, line });
  }
  return unprepared;
}

async function problemAt(path: string, transport: Transport): Promise<string | null> {
  return (await transport.send({ method: 'GET', path })).info.problem;
}

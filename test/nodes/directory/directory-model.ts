import type { AnnouncedSession, AnnouncedTunnel } from '../../../src/tunnel/nodes/directory/announced.ts';
import { nameKeyOf } from '../../../src/tunnel/nodes/directory/directory-tunnel.ts';
import type { DirectoryNode } from '../support/directory-node.ts';

/** What one node has announced, in the order of the gateway's calls. */
export class Announced {
  readonly sessions = new Map<string, AnnouncedSession>();
  readonly tunnels = new Map<string, AnnouncedTunnel>();
}

interface Expected {
  readonly sessions: Readonly<Record<string, { readonly epoch: number; readonly holders: readonly string[] }>>;
  /** Tunnels that other nodes reach, and who they are. */
  readonly tunnels: Readonly<Record<string, { readonly sessionId: string; readonly holders: readonly string[] }>>;
  readonly names: Readonly<Record<string, string>>;
}

type Said = readonly [nodeId: string, session: AnnouncedSession];

/** The union of what these nodes announce: per session the highest epoch, per tunnel and name the highest session. */
export function expectedDirectory(ownId: string, announced: ReadonlyMap<string, Announced>): Expected {
  const saidBySession = Map.groupBy(
    [...announced].flatMap(([nodeId, { sessions }]) =>
      [...sessions.values()].map((session): Said => [nodeId, session]),
    ),
    ([, session]) => session.id,
  );
  const expected = { sessions: {} as Record<string, unknown>, tunnels: {} as Record<string, unknown>, names: {} };
  const all: { tunnel: AnnouncedTunnel; epoch: number; nodes: string[] }[] = [];
  for (const [id, said] of saidBySession) {
    const [right] = said.toSorted(compare);
    if (right === undefined) continue;
    const { epoch, homeNodeId } = right[1];
    const nodes = said
      .filter(([, each]) => each.epoch === epoch && each.homeNodeId === homeNodeId)
      .map(([node]) => node);
    const others = nodes.filter((node) => node !== ownId);
    if (others.length > 0) expected.sessions[id] = { epoch, holders: others.toSorted() };
    const tunnels = new Map<string, { tunnel: AnnouncedTunnel; epoch: number; nodes: string[] }>();
    for (const node of nodes) {
      for (const tunnel of announced.get(node)?.tunnels.values() ?? []) {
        if (tunnel.sessionId !== id) continue;
        const known = tunnels.get(tunnel.id) ?? { tunnel, epoch, nodes: [] };
        known.nodes.push(node);
        tunnels.set(tunnel.id, known);
      }
    }
    all.push(...tunnels.values());
  }
  all.sort((a, b) => b.epoch - a.epoch || (a.tunnel.sessionId < b.tunnel.sessionId ? -1 : 1) || 0);
  const owners = all.filter((each, at) => all.findIndex(({ tunnel }) => tunnel.id === each.tunnel.id) === at);
  owners.sort(
    (a, b) => b.epoch - a.epoch || order(a.tunnel.sessionId, b.tunnel.sessionId) || order(a.tunnel.id, b.tunnel.id),
  );
  const names = new Map<string, (typeof owners)[number]>();
  for (const owner of owners) {
    const others = owner.nodes.filter((node) => node !== ownId);
    const { id, sessionId, endpoint } = owner.tunnel;
    if (others.length > 0) expected.tunnels[id] = { sessionId, holders: others.toSorted() };
    if (endpoint !== null && !names.has(nameKeyOf(endpoint))) names.set(nameKeyOf(endpoint), owner);
  }
  const reached = [...names].filter(([, { nodes }]) => nodes.some((node) => node !== ownId));
  expected.names = Object.fromEntries(reached.map(([key, { tunnel }]) => [key, tunnel.sessionId]));
  return expected as Expected;
}

/** The same of a real directory, read through its interface. */
export function seenDirectory({ directory }: DirectoryNode, ids: { tunnels: string[]; names: string[] }): Expected {
  const seen = [...directory.sessions()].map(({ id }) => [id, directory.session(id)] as const);
  const found = ids.tunnels.flatMap((id) => directory.remoteTunnel(id) ?? []);
  return {
    sessions: Object.fromEntries(
      seen.map(([id, each]) => [
        id,
        { epoch: each?.session.epoch ?? -1, holders: [...(each?.holders ?? [])].toSorted() },
      ]),
    ),
    tunnels: Object.fromEntries(
      found.map(({ id, sessionId, holders }) => [
        id,
        { sessionId, holders: [...new Set(holders.map(({ nodeId }) => nodeId))].toSorted() },
      ]),
    ),
    names: Object.fromEntries(
      ids.names.flatMap((key) => {
        const holder = directory.nameHolder(key);
        return holder === null ? [] : [[key, holder.sessionId]];
      }),
    ),
  };
}

function compare([nodeA, a]: Said, [nodeB, b]: Said): number {
  if (a.epoch !== b.epoch) return b.epoch - a.epoch;
  const isHomeA = nodeA === a.homeNodeId;
  const isHomeB = nodeB === b.homeNodeId;
  return isHomeA === isHomeB ? order(a.homeNodeId, b.homeNodeId) : Number(isHomeB) - Number(isHomeA);
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

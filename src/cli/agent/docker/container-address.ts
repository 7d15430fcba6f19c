import type { networkInterfaces } from 'node:os';
import { parseAddress } from '../../../lib/net/cidr.ts';
import { formatListenAddress } from '../../../lib/net/listen-address.ts';
import type { Container, ContainerNetwork, ListedContainer } from './container.ts';

type Interfaces = ReturnType<typeof networkInterfaces>;

/** Which addresses of containers lead from this agent to them, and to nothing else. */
export interface Reach {
  /** The agent has the network of the machine: ports that containers publish on loopback lead to them. */
  readonly hasLoopback: boolean;
  /** Ids of networks that the agent is in, as a container or as the machine with the bridge. */
  readonly networks: ReadonlySet<string>;
  /** The agent's own addresses, which no container has. */
  readonly own: ReadonlySet<string>;
}

export function reachOf(listed: readonly ListedContainer[], interfaces: Interfaces, isLocalEngine: boolean): Reach {
  const own = Object.values(interfaces).flatMap((each) => each ?? []);
  const addresses = new Set(own.map(({ address }) => address));
  const networks = new Set<string>();
  let isInContainer = false;
  for (const network of listed.flatMap((each) => each.networks)) {
    // The agent's own container: no other one has its address and its MAC.
    const isOwn = own.some(({ address, mac }) => address === network.address && mac.toLowerCase() === network.mac);
    if (isOwn) isInContainer = true;
    // The machine itself is the gateway of its bridges.
    if (isOwn || (isLocalEngine && addresses.has(network.gateway))) networks.add(network.id);
  }
  return { hasLoopback: isLocalEngine && !isInContainer, networks, own: addresses };
}

/** Why no port of the container can be told from those of others; null if it has a network of its own. */
export function sharedNetwork({ networkMode, networks }: Container): string | null {
  if (networkMode === 'host' || networks.some(({ name, id }) => name === 'host' || id === 'host')) {
    return 'it uses the network of the machine, so its ports cannot be told from those of other programs: give it a network of its own, or write a tunnel for it in the file of the agent';
  }
  const isOfOther = networkMode.startsWith('container:') || networkMode.startsWith('ns:');
  return isOfOther ? 'it uses the network of another container: put the labels on that one' : null;
}

export type AddressChoice = { readonly hostport: string } | { readonly reason: string };

/** The address of one port of a container. `network` is the label `postern.network`. */
export function addressOf(
  container: Container,
  port: number,
  network: string | null,
  { hasLoopback, networks, own }: Reach,
): AddressChoice {
  const unclear = sharedNetwork(container);
  if (unclear !== null) return { reason: unclear };
  const published = container.published.filter((each) => each.port === port);
  if (network === null && hasLoopback) {
    const onLoopback = published.find(({ hostIp }) => isLoopback(hostIp));
    if (onLoopback !== undefined) {
      return { hostport: formatListenAddress({ host: onLoopback.hostIp, port: onLoopback.hostPort }) };
    }
  }
  const candidates = container.networks.filter(({ name }) => network === null || name === network);
  if (network !== null && candidates.length === 0) {
    return { reason: `it is not in the network ${JSON.stringify(network)} that postern.network names` };
  }
  for (const candidate of [...candidates].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (!networks.has(candidate.id)) continue;
    const host = ownAddressOf(candidate, own);
    if (host !== null) return { hostport: formatListenAddress({ host, port }) };
  }
  const onAll = network === null && hasLoopback ? published.find(({ hostIp }) => isWildcard(hostIp)) : undefined;
  if (onAll !== undefined) return { hostport: formatListenAddress({ host: '127.0.0.1', port: onAll.hostPort }) };
  return { reason: unreachable(port, network, hasLoopback) };
}

function unreachable(port: number, network: string | null, hasLoopback: boolean): string {
  if (network !== null) return `the agent is not in the network ${JSON.stringify(network)} that postern.network names`;
  return hasLoopback
    ? `the agent cannot reach port ${port}: publish it on loopback (ports: "127.0.0.1::${port}")`
    : `the agent cannot reach port ${port}: connect the agent and the container to one network`;
}

/** An address that the engine gave to the container, and that cannot mean anything else. */
function ownAddressOf({ address, address6 }: ContainerNetwork, own: ReadonlySet<string>): string | null {
  for (const text of [address, address6]) {
    const parsed = text === '' || own.has(text) ? null : parseAddress(text);
    const range = parsed?.range() ?? null;
    // Bridges have private addresses. A public one, loopback or a metadata service is not a container's.
    if (range === 'private' || range === 'uniqueLocal' || range === 'carrierGradeNat') return text;
  }
  return null;
}

function isLoopback(text: string): boolean {
  return parseAddress(text)?.range() === 'loopback';
}

function isWildcard(text: string): boolean {
  return text === '' || text === '0.0.0.0' || text === '::';
}

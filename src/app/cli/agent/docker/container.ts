import type { networkInterfaces } from 'node:os';
import { parseAddress } from '../../../../kit/net/cidr.ts';
import { formatListenAddress } from '../../../../kit/net/listen-address.ts';

/** A container as its engine describes it, reduced to what matters here. Everything in it is a stranger's text. */
export interface Container {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly labels: ReadonlyMap<string, string>;
  /** Whether it may get requests: it runs, and its health check, if it has one, passes. */
  readonly isReady: boolean;
  /** As the engine words it: `bridge`, `host`, `container:ID`. */
  readonly networkMode: string;
  /** TCP ports of the image and of the container. */
  readonly exposed: readonly number[];
  readonly published: readonly PublishedPort[];
  readonly networks: readonly ContainerNetwork[];
  /** Why the engine could not describe it; null if it could. */
  readonly problem: string | null;
}

interface PublishedPort {
  readonly port: number;
  /** Address of the machine; empty: all. */
  readonly hostIp: string;
  readonly hostPort: number;
}

export interface ContainerNetwork {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly address6: string;
  readonly gateway: string;
  readonly mac: string;
}

export const PREFIX = 'postern.';
const CONTAINER_ID = /^[0-9a-f]{12,128}$/;
const MAX_LABELS = 100;
const MAX_NAME = 64;
const MAX_PORTS = 1_000;
const MAX_NETWORKS = 100;
/** Swarm, and the project and service of Compose. */
export const SERVICE_LABELS = [
  'com.docker.swarm.service.name',
  'com.docker.compose.project',
  'com.docker.compose.service',
] as const;

/** An entry of the engine's list. */
export interface ListedContainer {
  readonly id: string;
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly createdAtMs: number;
  readonly networks: readonly ContainerNetwork[];
  /** Equal while nothing about it changes that matters here. */
  readonly signature: string;
}

/** Null: not a list of containers. Taken for an empty one, it would unpublish everything. */
export function listedContainers(value: unknown): readonly ListedContainer[] | null {
  if (!Array.isArray(value)) return null;
  const ids = value.map((entry) => textOf(fieldsOf(entry)['Id']));
  if (!ids.every((id) => CONTAINER_ID.test(id))) return null;
  return value.map((entry, at) => {
    const fields = fieldsOf(entry);
    const id = ids[at] as string;
    const [name] = Array.isArray(fields['Names']) ? fields['Names'] : [];
    const networks = networksOf(fieldsOf(fields['NetworkSettings'])['Networks']);
    const labels = labelsOf(fields['Labels']);
    const health = /\(([^)]*)\)\s*$/.exec(textOf(fields['Status']))?.[1] ?? '';
    const signature = JSON.stringify([textOf(fields['State']), health, networks, fields['Ports'] ?? null, [...labels]]);
    const createdAtMs = numberOf(fields['Created']) * 1000;
    return { id, name: nameOf(name, id), labels, createdAtMs, networks, signature };
  });
}

/** Whether somebody means it for Postern, rightly or not. */
export function isLabelled({ labels }: Pick<ListedContainer, 'labels'>): boolean {
  for (const name of labels.keys()) if (name.startsWith(PREFIX)) return true;
  return false;
}

export function inspectedContainer(value: unknown, { id, createdAtMs }: ListedContainer): Container {
  const fields = fieldsOf(value);
  const config = fieldsOf(fields['Config']);
  const settings = fieldsOf(fields['NetworkSettings']);
  const isSame = textOf(fields['Id']) === id;
  return {
    id,
    name: nameOf(fields['Name'], id),
    createdAtMs: timeOf(fields['Created']) ?? createdAtMs,
    labels: labelsOf(config['Labels']),
    isReady: isReady(fieldsOf(fields['State'])),
    networkMode: textOf(fieldsOf(fields['HostConfig'])['NetworkMode']),
    exposed: exposedOf(config['ExposedPorts']),
    published: publishedOf(settings['Ports']),
    networks: networksOf(settings['Networks']),
    problem: isSame ? null : 'the engine described another container',
  };
}

/** A container that the engine lists and could not describe. */
export function undescribed({ id, name, labels, createdAtMs }: ListedContainer, problem: string): Container {
  const nothing = { isReady: false, networkMode: '', exposed: [], published: [], networks: [] };
  return { id, name, labels, createdAtMs, ...nothing, problem };
}

/** `starting` counts as not ready. Engines write `none` or nothing without a health check. */
function isReady(state: Fields): boolean {
  const health = fieldsOf(state['Health'] ?? state['Healthcheck']);
  const status = textOf(health['Status']);
  const isRunning = textOf(state['Status']) === 'running' && state['Paused'] !== true && state['Restarting'] !== true;
  return isRunning && (status === '' || status === 'none' || status === 'healthy');
}

function exposedOf(value: unknown): readonly number[] {
  const ports = Object.keys(fieldsOf(value)).slice(0, MAX_PORTS).map(tcpPort);
  return [...new Set(ports.filter((port) => port !== null))].sort((a, b) => a - b);
}

function publishedOf(value: unknown): readonly PublishedPort[] {
  return Object.entries(fieldsOf(value))
    .slice(0, MAX_PORTS)
    .flatMap(([name, bindings]) => {
      const port = tcpPort(name);
      if (port === null || !Array.isArray(bindings)) return [];
      return bindings.slice(0, MAX_PORTS).flatMap((binding) => {
        const fields = fieldsOf(binding);
        const hostPort = portOf(textOf(fields['HostPort']));
        return hostPort === null ? [] : [{ port, hostIp: textOf(fields['HostIp']), hostPort }];
      });
    });
}

function networksOf(value: unknown): readonly ContainerNetwork[] {
  return Object.entries(fieldsOf(value))
    .slice(0, MAX_NETWORKS)
    .map(([name, network]) => {
      const fields = fieldsOf(network);
      return {
        id: textOf(fields['NetworkID']) || name,
        name,
        address: textOf(fields['IPAddress']),
        address6: textOf(fields['GlobalIPv6Address']),
        gateway: textOf(fields['Gateway']),
        mac: textOf(fields['MacAddress']).toLowerCase(),
      };
    });
}

/** Labels of Postern, and those that tell the service. */
function labelsOf(value: unknown): ReadonlyMap<string, string> {
  const entries = Object.entries(fieldsOf(value)).filter(
    ([name, text]) =>
      typeof text === 'string' && (name.startsWith(PREFIX) || SERVICE_LABELS.some((each) => each === name)),
  );
  return new Map(entries.slice(0, MAX_LABELS) as [string, string][]);
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function timeOf(value: unknown): number | null {
  const ms = Date.parse(textOf(value));
  return Number.isNaN(ms) ? null : ms;
}

/** `80/tcp`. */
function tcpPort(text: string): number | null {
  const [, port = ''] = /^(\d{1,5})\/tcp$/.exec(text) ?? [];
  return portOf(port);
}

export function portOf(text: string): number | null {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : null;
}

function nameOf(value: unknown, id: string): string {
  const name = textOf(value).replace(/^\//, '');
  return /^[\w][\w.-]*$/.test(name) ? name.slice(0, MAX_NAME) : id.slice(0, 12);
}

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

type AddressChoice = { readonly hostport: string } | { readonly reason: string };

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

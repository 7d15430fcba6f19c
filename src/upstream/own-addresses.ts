import { networkInterfaces } from 'node:os';
import { parseAddress } from '../lib/net/cidr.ts';
import { isLoopbackHost, isWildcardHost, type ListenAddress } from '../lib/net/listen-address.ts';

/** Current ports of tcp tunnels, all on one host. */
export interface HeldPorts {
  readonly host: string;
  has(port: number): boolean;
  list(): readonly { readonly port: number }[];
}

/** All of them, for another thread. */
export interface OwnAddressList {
  readonly api: readonly ListenAddress[];
  readonly control: readonly ListenAddress[];
  readonly edge: readonly ListenAddress[];
  readonly tunnels: { readonly host: string; readonly ports: readonly number[] } | null;
}

/** The addresses that this process listens on. Connections made on behalf of others must not lead back to it. */
export class OwnAddresses {
  readonly #api: ListenAddress[] = [];
  readonly #control: ListenAddress[] = [];
  readonly #edge: ListenAddress[] = [];
  #tunnelPorts: HeldPorts | null = null;

  addApi(address: ListenAddress): void {
    this.#api.push(address);
  }

  /** The listener of agents. */
  addControl(address: ListenAddress): void {
    this.#control.push(address);
  }

  addEdge(...addresses: readonly ListenAddress[]): void {
    this.#edge.push(...addresses);
  }

  setTunnelPorts(ports: HeldPorts): void {
    this.#tunnelPorts = ports;
  }

  /** Those of another thread, instead of its own. */
  become({ api, control, edge, tunnels }: OwnAddressList): void {
    this.#api.splice(0, Number.POSITIVE_INFINITY, ...api);
    this.#control.splice(0, Number.POSITIVE_INFINITY, ...control);
    this.#edge.splice(0, Number.POSITIVE_INFINITY, ...edge);
    const ports = new Set(tunnels?.ports);
    this.#tunnelPorts =
      tunnels === null ? null : { host: tunnels.host, has: (port) => ports.has(port), list: () => [] };
  }

  list(): OwnAddressList {
    const tunnels = this.#tunnelPorts;
    return {
      api: [...this.#api],
      control: [...this.#control],
      edge: [...this.#edge],
      tunnels: tunnels === null ? null : { host: tunnels.host, ports: tunnels.list().map(({ port }) => port) },
    };
  }

  has(ip: string, port: number): boolean {
    return this.hasBesidesEdge(ip, port) || isAmong(this.#edge, ip, port);
  }

  /** The console may be published through the edge (`api_behind_edge`). */
  hasBesidesApi(ip: string, port: number): boolean {
    return isAmong([...this.#control, ...this.#edge], ip, port) || this.#hasTunnelPort(ip, port);
  }

  /** Receivers of events may be published through the edge; no other address here is a valid receiver. */
  hasBesidesEdge(ip: string, port: number): boolean {
    return isAmong([...this.#api, ...this.#control], ip, port) || this.#hasTunnelPort(ip, port);
  }

  /** Whether the API answers there, by any address of this machine. */
  isApi(ip: string, port: number): boolean {
    return this.#api.some((own) => own.port === port && (isListener(own.host, ip) || isOwnInterface(own.host, ip)));
  }

  #hasTunnelPort(ip: string, port: number): boolean {
    const tunnels = this.#tunnelPorts;
    return tunnels?.has(port) === true && (isListener(tunnels.host, ip) || isOwnInterface(tunnels.host, ip));
  }
}

function isAmong(all: readonly ListenAddress[], ip: string, port: number): boolean {
  return all.some((own) => own.port === port && isListener(own.host, ip));
}

/**
 * A wildcard listener counts on loopback only: an OpenID provider may be published through this very edge, under the
 * machine's public address.
 */
function isListener(host: string, ip: string): boolean {
  const own = parseAddress(host);
  const dialled = parseAddress(ip);
  if (dialled === null) return false;
  // Linux connects 0.0.0.0 and :: to loopback.
  const isLocal = dialled.range() === 'loopback' || dialled.range() === 'unspecified';
  if (own === null) return isLocal && isLoopbackHost(host);
  if (own.range() === 'unspecified') return isLocal;
  if (dialled.range() === 'unspecified') return own.range() === 'loopback';
  return own.toNormalizedString() === dialled.toNormalizedString();
}

/** Ports on a wildcard address are reachable at each address of the machine. A name may be any of them. */
function isOwnInterface(host: string, ip: string): boolean {
  const dialled = parseAddress(ip);
  if (dialled === null || (parseAddress(host) !== null && !isWildcardHost(host))) return false;
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .some(({ address }) => parseAddress(address)?.toNormalizedString() === dialled.toNormalizedString());
}

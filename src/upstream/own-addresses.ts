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
  readonly control: readonly ListenAddress[];
  readonly edge: readonly ListenAddress[];
  readonly tunnels: { readonly host: string; readonly ports: readonly number[] } | null;
}

/** The addresses that this process listens on. Connections made on behalf of others must not lead back to it. */
export class OwnAddresses {
  readonly #control: ListenAddress[] = [];
  readonly #edge: ListenAddress[] = [];
  #tunnelPorts: HeldPorts | null = null;

  /** Listeners of the API and of agents. */
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
  become({ control, edge, tunnels }: OwnAddressList): void {
    this.#control.splice(0, Number.POSITIVE_INFINITY, ...control);
    this.#edge.splice(0, Number.POSITIVE_INFINITY, ...edge);
    const ports = new Set(tunnels?.ports);
    this.#tunnelPorts =
      tunnels === null ? null : { host: tunnels.host, has: (port) => ports.has(port), list: () => [] };
  }

  list(): OwnAddressList {
    const tunnels = this.#tunnelPorts;
    return {
      control: [...this.#control],
      edge: [...this.#edge],
      tunnels: tunnels === null ? null : { host: tunnels.host, ports: tunnels.list().map(({ port }) => port) },
    };
  }

  has(ip: string, port: number): boolean {
    return this.hasBesidesEdge(ip, port) || this.#edge.some((own) => own.port === port && isListener(own.host, ip));
  }

  /** Receivers of events may be published through the edge; no other address here is a valid receiver. */
  hasBesidesEdge(ip: string, port: number): boolean {
    if (this.#control.some((own) => own.port === port && isListener(own.host, ip))) return true;
    const tunnels = this.#tunnelPorts;
    return tunnels?.has(port) === true && (isListener(tunnels.host, ip) || isOwnInterface(tunnels.host, ip));
  }
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

/** Tunnel ports on a wildcard address are reachable at each address of the machine. A name may be any of them. */
function isOwnInterface(host: string, ip: string): boolean {
  const dialled = parseAddress(ip);
  if (dialled === null || (parseAddress(host) !== null && !isWildcardHost(host))) return false;
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .some(({ address }) => parseAddress(address)?.toNormalizedString() === dialled.toNormalizedString());
}

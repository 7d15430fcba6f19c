import { networkInterfaces } from 'node:os';
import { type Address, cidrMatcher, parseAddress } from '../../kit/net/cidr.ts';
import { isLoopbackHost, isWildcardHost, type ListenAddress } from '../../kit/net/listen-address.ts';

/**
 * Link-local, where clouds keep their metadata services, and those of AWS, Alibaba, Azure, Google, Oracle and Scaleway
 * elsewhere.
 */
const METADATA = ['169.254.0.0/16', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'].map(cidrMatcher);
const METADATA_V6 = [
  'fe80::/10',
  'fd00:ec2::/112',
  'fd20:ce::254/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:42::42/128',
].map(cidrMatcher);
/** Linux connects them to loopback. */
const UNSPECIFIED = ['0.0.0.0/8', '::/128'].map(cidrMatcher);

/**
 * IPv6 ranges that lead to IPv4, with the places of its four bytes: NAT64 (RFC 6052 §2.2; a network may use any prefix
 * length in its own range of RFC 8215), 6to4, RFC 6145, and RFC 4291 §2.5.5.1.
 */
const EMBEDDINGS: readonly (readonly [range: string, places: readonly (readonly number[])[]])[] = [
  ['64:ff9b::/96', [[12, 13, 14, 15]]],
  [
    '64:ff9b:1::/48',
    [
      [6, 7, 9, 10],
      [7, 9, 10, 11],
      [9, 10, 11, 12],
      [12, 13, 14, 15],
    ],
  ],
  ['2002::/16', [[2, 3, 4, 5]]],
  ['::ffff:0:0:0/96', [[12, 13, 14, 15]]],
  ['::/96', [[12, 13, 14, 15]]],
];
const CARRIERS = EMBEDDINGS.map(([range, places]) => ({ matches: cidrMatcher(range), places }));

function isMetadata(address: Address): boolean {
  if (address.kind() === 'ipv4') return METADATA.some((matches) => matches(address));
  if (METADATA_V6.some((matches) => matches(address))) return true;
  const bytes = address.toByteArray();
  return CARRIERS.some(
    ({ matches, places }) =>
      matches(address) &&
      places.some((at) => {
        const inner = parseAddress(at.map((index) => bytes[index]).join('.'));
        return inner !== null && METADATA.some((isOne) => isOne(inner));
      }),
  );
}

/**
 * Connections made on behalf of others may not reach metadata services or Postern itself; checked against the address
 * that is dialled.
 */
export function upstreamGuard(
  allowedCidrs: readonly string[],
  own: Pick<OwnAddresses, 'has'>,
): (ip: string, port: number) => boolean {
  const allowed = allowedCidrs.map(cidrMatcher);
  return (ip, port) => {
    const address = parseAddress(ip);
    if (address === null || own.has(ip, port)) return false;
    if (allowed.some((matches) => matches(address))) return true;
    return !isMetadata(address) && !UNSPECIFIED.some((matches) => matches(address));
  };
}

/** Current ports of tcp tunnels, all on one host. */
interface HeldPorts {
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

  /** Takes the addresses of another thread, instead of its own. */
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

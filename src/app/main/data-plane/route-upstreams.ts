import { isIP } from 'node:net';
import { backendConfig, backendOfRecordKind } from '../../../backends/record-kinds.ts';
import type { ForbiddenUpstream } from '../../../control/findings/facts.ts';
import { splitAddress } from '../../../kit/net/host-name.ts';
import { isLoopbackHost } from '../../../kit/net/listen-address.ts';
import type { KindOfId } from '../../../proxy/snapshot/compile-backend.ts';
import type { OwnAddresses } from '../../../proxy/upstream/upstream-guard.ts';
import type { Replica } from '../../../store/replica/replica.ts';

export interface StoredBackends {
  readonly replica: Pick<Replica, 'get'>;
  readonly kindOfId: KindOfId;
}

/** Fixed addresses of a backend and of those that it consists of, each backend once. */
export function upstreamsOf(backendId: string, { replica, kindOfId }: StoredBackends): readonly string[] {
  const ids = new Set([backendId]);
  const addresses: string[] = [];
  for (const id of ids) {
    const kind = kindOfId(id);
    const stored = kind === null ? undefined : replica.get(kind, id)?.doc;
    if (kind === null || stored === undefined) continue;
    const config = backendConfig(kind, stored);
    const backend = backendOfRecordKind(kind);
    for (const member of backend?.memberIds?.(config as never) ?? []) ids.add(member);
    for (const { address } of backend?.upstreamAddresses?.(config as never) ?? []) addresses.push(address);
  }
  return addresses;
}

/**
 * Whether traffic to an upstream reaches the API of this process. Names are not resolved, except for those of this
 * machine.
 */
export function ownApi(
  own: OwnAddresses,
  isBackendAllowed: (ip: string, port: number) => boolean,
): (upstream: string) => boolean {
  return (upstream) => {
    const { ips, port } = knownAddresses(upstream);
    return ips.some((ip) => own.isApi(ip, port) && isBackendAllowed(ip, port));
  };
}

/**
 * Why the edge may not connect to an upstream; null: it may. Names are not resolved, except for those of this machine:
 * the edge checks what a name leads to when it dials.
 */
export function forbiddenUpstream(
  own: OwnAddresses,
  isBackendAllowed: (ip: string, port: number) => boolean,
): (upstream: string) => ForbiddenUpstream | null {
  return (upstream) => {
    const { ips, port } = knownAddresses(upstream);
    const forbidden = ips.filter((ip) => isIP(ip) !== 0 && !isBackendAllowed(ip, port));
    if (forbidden.length === 0) return null;
    if (forbidden.some((ip) => own.isApi(ip, port))) return 'own_api';
    return forbidden.some((ip) => own.has(ip, port)) ? 'own_listener' : 'metadata';
  };
}

function knownAddresses(upstream: string): { readonly ips: readonly string[]; readonly port: number } {
  const { host, port } = splitAddress(upstream);
  return { ips: isIP(host) === 0 && isLoopbackHost(host) ? ['127.0.0.1', '::1'] : [host], port };
}

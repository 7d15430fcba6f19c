import { isIP } from 'node:net';
import { backendOfRecordKind } from '../../backends/record-kinds.ts';
import { isLoopbackHost } from '../../lib/net/listen-address.ts';
import { splitAddress } from '../../lib/net/split-address.ts';
import type { Replica } from '../../replica/replica.ts';
import type { KindOfId } from '../../snapshot/compile-backend.ts';
import type { OwnAddresses } from '../../upstream/own-addresses.ts';

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
    const config = kind === null ? undefined : replica.get(kind, id)?.doc;
    if (kind === null || config === undefined) continue;
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
    const { host, port } = splitAddress(upstream);
    const ips = isIP(host) === 0 && isLoopbackHost(host) ? ['127.0.0.1', '::1'] : [host];
    return ips.some((ip) => own.isApi(ip, port) && isBackendAllowed(ip, port));
  };
}

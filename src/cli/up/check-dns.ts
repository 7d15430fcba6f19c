import { isPublicName } from '../../acme/names.ts';
import { parseAddress } from '../../lib/net/cidr.ts';
import { isLoopbackHost } from '../../lib/net/listen-address.ts';
import { publicAddressGuard } from '../../lib/net/public-address-guard.ts';
import type { UpPorts } from './up-ports.ts';

type DnsPorts = Pick<UpPorts, 'records' | 'ownAddresses'>;

const isPublic = publicAddressGuard([]);

/**
 * What keeps visitors and ACME servers from finding a host here. Never a reason to stop: behind NAT no interface has the
 * public address, and records may be on their way.
 */
export async function dnsWarnings(host: string, ports: DnsPorts): Promise<readonly string[]> {
  if (isLoopbackHost(host)) return [];
  const found = await ports.records(host).catch(() => null);
  if (found === null) return [`DNS does not answer for ${host}, so its records could not be checked`];
  const own = ports.ownAddresses().map(normal);
  const publicOf = (family: 4 | 6): string | undefined =>
    own.find((each) => isPublic(each) && each.includes(':') === (family === 6));
  if (found.v4.length === 0 && found.v6.length === 0) {
    const address = publicOf(4) ?? 'the public address of this machine';
    return [`${host} has no address in DNS: create an A record with ${address}`];
  }
  const foreign = (all: readonly string[]): readonly string[] => all.filter((each) => !own.includes(normal(each)));
  const [v4, v6] = [foreign(found.v4), foreign(found.v6)];
  const right = publicOf(6);
  return [
    ...(v4.length === 0
      ? []
      : [
          `${host} resolves to ${v4.join(', ')}, which is no address of this machine: normal behind NAT or a load balancer, wrong otherwise`,
        ]),
    ...(v6.length === 0
      ? []
      : [
          `${host} has the AAAA record ${v6.join(', ')}, which is no address of this machine. Visitors and ACME servers try IPv6 first: ${right === undefined ? 'remove the record' : `correct it to ${right}, or remove it`}`,
        ]),
  ];
}

/** The records that the hosts need, each with what DNS has now. Names of this machine need none. */
export async function recordLines(hosts: readonly string[], ports: DnsPorts): Promise<readonly string[]> {
  const named = hosts.filter((host) => !isLoopbackHost(host));
  if (named.length === 0) return [];
  const own = ports.ownAddresses().find((each) => isPublic(normal(each)) && !each.includes(':'));
  const lines = named.map(async (host) => {
    const found = await ports.records(host).catch(() => null);
    const has = [
      ...(found?.v4 ?? []).map((address) => `A ${address}`),
      ...(found?.v6 ?? []).map((address) => `AAAA ${address}`),
    ];
    const missing = found === null ? 'DNS does not answer' : `none yet: A ${own ?? '(public address of this machine)'}`;
    return `  ${host.padEnd(Math.max(...named.map(({ length }) => length)))}  ${has.length > 0 ? has.join(', ') : missing}`;
  });
  return ['DNS records that this needs:', ...(await Promise.all(lines))];
}

/** Whether DNS answers, and has no address for the host. */
export async function isUnknownToDns(host: string, ports: DnsPorts): Promise<boolean> {
  if (isLoopbackHost(host)) return false;
  const found = await ports.records(host).catch(() => null);
  return found !== null && found.v4.length === 0 && found.v6.length === 0;
}

/**
 * The name for the identity host: `id` beside the host if DNS leads it to the same place, otherwise `id` below it. Without
 * DNS nobody can tell whether the domain above belongs to the same people: the one above `shop.co.uk` does not.
 */
export async function identityHostFor(host: string, { records }: Pick<DnsPorts, 'records'>): Promise<string> {
  const above = host.slice(host.indexOf('.') + 1);
  const beside = `id.${above}`;
  if (!host.includes('.')) return `id.${host}`;
  // No registry sells names below these.
  if (!isPublicName(host)) return beside;
  const none = { v4: [], v6: [] };
  const [there, here] = await Promise.all([beside, host].map((name) => records(name).catch(() => none)));
  const addresses = new Set([...(here?.v4 ?? []), ...(here?.v6 ?? [])].map(normal));
  const isSame = [...(there?.v4 ?? []), ...(there?.v6 ?? [])].some((each) => addresses.has(normal(each)));
  return isSame ? beside : `id.${host}`;
}

function normal(address: string): string {
  return parseAddress(address)?.toString() ?? address;
}

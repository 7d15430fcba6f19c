import { lookup, Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { parseAddress } from '../../../kit/net/cidr.ts';

/** Resolves a name to its addresses. Rejects like node:dns. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

const TIMEOUT_MS = 3_000;
const MAX_SHOWN = 4;

export interface AddressRecords {
  readonly v4: readonly string[];
  readonly v6: readonly string[];
}

export const resolveName: ResolveName = async (host) => {
  const { v4, v6 } = await addressRecords(host);
  return [...v4, ...v6];
};

async function addressRecords(host: string): Promise<AddressRecords> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = {
    v4: v4.status === 'fulfilled' ? v4.value : [],
    v6: v6.status === 'fulfilled' ? v6.value : [],
  };
  if (found.v4.length === 0 && found.v6.length === 0 && v4.status === 'rejected') throw v4.reason as Error;
  return found;
}

/**
 * What this machine knows about a name: its records, otherwise its line in the hosts file. Rejects if DNS does not
 * answer.
 */
export async function knownAddresses(host: string): Promise<AddressRecords> {
  try {
    return await addressRecords(host);
  } catch (error) {
    const addresses = await lookup(host, { all: true }).catch(() => []);
    const of = (family: number): readonly string[] =>
      addresses.flatMap((each) => (each.family === family ? [each.address] : []));
    if (addresses.length === 0 && !isMissing(error)) throw error;
    return { v4: of(4), v6: of(6) };
  }
}

/**
 * A sentence about the name's DNS for the message of a failure, or null. It never keeps an order from being tried:
 * the server may see other records than we do.
 */
export async function dnsDiagnosis(host: string, resolve: ResolveName): Promise<string | null> {
  if (host.startsWith('*.')) return null;
  try {
    const addresses = await resolve(host);
    if (addresses.length === 0) return `the name ${host} has no address in DNS`;
    const own = ownAddresses();
    const foreign = addresses.filter((address) => !own.has(normal(address)));
    if (foreign.length === 0) return null;
    const list = foreign.slice(0, MAX_SHOWN).join(', ');
    return `the name ${host} resolves to ${list}, which is not an address of this server (normal behind NAT or a load balancer)`;
  } catch (error) {
    if (isMissing(error)) return `the name ${host} does not exist in DNS`;
    return null;
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === 'ENOTFOUND' || code === 'ENODATA';
}

export function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return new Set(all.map(({ address }) => normal(address)));
}

function normal(address: string): string {
  return parseAddress(address)?.toString() ?? address;
}

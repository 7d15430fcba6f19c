import { Resolver } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { parseAddress } from '../../lib/net/cidr.ts';

/** Resolves a name to its addresses. Rejects like node:dns. */
export type ResolveName = (host: string) => Promise<readonly string[]>;

const TIMEOUT_MS = 3_000;
const MAX_SHOWN = 4;

export const resolveName: ResolveName = async (host) => {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  const [first] = answers;
  if (found.length === 0 && first?.status === 'rejected') throw first.reason as Error;
  return found;
};

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
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ENOTFOUND' || code === 'ENODATA') return `the name ${host} does not exist in DNS`;
    return null;
  }
}

function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return new Set(all.map(({ address }) => normal(address)));
}

function normal(address: string): string {
  return parseAddress(address)?.toString() ?? address;
}

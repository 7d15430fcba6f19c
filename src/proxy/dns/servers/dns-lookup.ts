import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { failureCode } from '../../../kit/error-text.ts';
import { DnsFailure } from '../dns-provider.ts';
import type { ServerAddress } from './exchange.ts';

/** A name server of a zone, with all its addresses. */
interface NameServer {
  readonly host: string;
  readonly addresses: readonly ServerAddress[];
}

export interface ZoneServers {
  readonly zone: string;
  readonly servers: readonly NameServer[];
}

/** Questions to the resolver of the system. */
export interface DnsLookup {
  /** Null: the name is no alias. */
  readonly aliasOf: (name: string) => Promise<string | null>;
  /** The zone that the name is in, and its servers. */
  readonly serversOf: (name: string) => Promise<ZoneServers>;
  readonly addressesOf: (host: string) => Promise<readonly string[]>;
}

const PORT = 53;
const TIMEOUT_MS = 5_000;
const NOTHING: readonly string[] = ['ENODATA', 'ENOTFOUND'];

export function systemDnsLookup(): DnsLookup {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 2 });
  const addressesOf = async (host: string): Promise<readonly string[]> => {
    if (isIP(host) !== 0) return [host];
    const found = await Promise.all([none(resolver.resolve4(host), host), none(resolver.resolve6(host), host)]);
    return found.flat();
  };
  return {
    addressesOf,
    aliasOf: async (name) => canonical((await none(resolver.resolveCname(name), name))[0] ?? null),
    serversOf: async (name) => {
      const labels = name.split('.');
      for (let start = 0; start < labels.length; start += 1) {
        const zone = labels.slice(start).join('.');
        const hosts = await none(resolver.resolveNs(zone), zone);
        if (hosts.length === 0) continue;
        const servers = hosts.map(async (host) => {
          const addresses = await addressesOf(host);
          return { host, addresses: addresses.map((address) => ({ address, port: PORT })) };
        });
        return { zone, servers: await Promise.all(servers) };
      }
      throw new DnsFailure(`DNS knows no name servers for ${name}: check that the domain is registered and delegated`);
    },
  };
}

/** An empty list where there are no records of the type. */
async function none(question: Promise<string[]>, name: string): Promise<readonly string[]> {
  try {
    return await question;
  } catch (error) {
    const code = failureCode(error);
    if (NOTHING.includes(code)) return [];
    throw new DnsFailure(
      `the resolver of this machine does not answer about ${name} (${code}): check its DNS settings`,
    );
  }
}

function canonical(name: string | null): string | null {
  return name === null ? null : name.toLowerCase().replace(/\.$/, '');
}

/** More than any resolver of a certificate authority follows. */
const MAX_ALIASES = 8;

/** The name where the records of `name` really are: CNAME records are followed (RFC 8555 §8.4). */
export async function followAliases(name: string, { aliasOf }: Pick<DnsLookup, 'aliasOf'>): Promise<string> {
  const seen = [name];
  for (;;) {
    const current = seen.at(-1) as string;
    const next = await aliasOf(current);
    if (next === null) return current;
    const path = [...seen, next].join(' → ');
    if (seen.includes(next))
      throw new DnsFailure(`the CNAME records of ${name} lead in a circle (${path}): remove one`);
    if (seen.length > MAX_ALIASES)
      throw new DnsFailure(
        `${name} has more than ${MAX_ALIASES} CNAME records behind each other (${path}): shorten the chain`,
      );
    seen.push(next);
  }
}

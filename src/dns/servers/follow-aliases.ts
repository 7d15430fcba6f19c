import { DnsFailure } from '../dns-failure.ts';
import type { DnsLookup } from './dns-lookup.ts';

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

import { loadPart } from '../lib/load-part.ts';
import { parseSecretReference, readSecret, type SecretReference } from '../lib/secret-reference.ts';
import { DnsFailure } from './dns-failure.ts';
import type { DnsProvider, DnsZone, ProviderPorts, ZoneRecords } from './dns-provider.ts';
import { dnsProviders } from './providers/registry.ts';

export function providerOf({ provider }: DnsZone): DnsProvider {
  // The setting has been checked.
  return dnsProviders.find(({ name }) => name === provider) as DnsProvider;
}

/** The records of a zone at its provider, whose code is loaded now. */
export async function openZone(zone: DnsZone, ports: ProviderPorts): Promise<ZoneRecords> {
  const provider = providerOf(zone);
  const records = await loadPart(() => provider.load());
  const secret = async (option: string): Promise<string> => {
    const reference = parseSecretReference(zone.options[option] as string) as SecretReference;
    const read = await readSecret(reference, { env: ports.env, directory: '.' });
    if ('value' in read) return read.value;
    throw new DnsFailure(`acme_dns: ${option} of ${zone.zone} cannot be read: ${read.problem}`);
  };
  return records({ ...zone, ports, secret });
}

import Type from 'typebox';
import { isJsonObject, type JsonObject, type JsonValue } from '../../kit/json.ts';
import { loadPart } from '../../kit/load-part.ts';
import { parseSecretReference, readSecret, SECRET_FORMS, type SecretReference } from '../../kit/secret-reference.ts';
import type { SettingKind } from '../../kit/settings/setting.ts';
import { didYouMean } from '../../kit/text/near-match.ts';
import {
  DnsFailure,
  type DnsProvider,
  type DnsZone,
  isRecordName,
  OTHER_ZONES,
  type ProviderOption,
  type ProviderPorts,
  type ZoneRecords,
} from './dns-provider.ts';
import { dnsProviders } from './providers/registry.ts';

const names = dnsProviders.map(({ name }) => name);

/** The setting `acme_dns`. It contains no secret, only references: it can be shown. */
export const dnsZones: SettingKind<readonly DnsZone[]> = {
  schema: Type.Record(Type.String(), Type.Unknown()),
  allowed: `a map from zones to maps with provider (${names.join(', ')}) and its options; as JSON in a flag or variable`,
  hint: 'JSON',
  decode: (wire) => (problemOf(wire) === null ? Object.entries(wire as JsonObject).map(zoneOf) : undefined),
  problem: (wire) => problemOf(wire),
  encode: (zones) => Object.fromEntries(zones.map(({ zone, provider, options }) => [zone, { provider, ...options }])),
};

function zoneOf([zone, value]: readonly [string, JsonValue]): DnsZone {
  const { provider, ...options } = value as Record<string, string>;
  return { zone, provider: provider as string, options };
}

/** What is wrong, for the message of the setting. It never repeats a value: that may be a secret. */
function problemOf(wire: unknown): string | null {
  if (!isJsonObject(wire))
    return 'is no map from zones to providers. As a flag or variable, write JSON: {"example.com": {"provider": …}}';
  for (const [zone, value] of Object.entries(wire)) {
    if (zone !== OTHER_ZONES && !isRecordName(zone))
      return `has a key that is no zone: write such as example.com, in lower case and without a final dot`;
    if (!isJsonObject(value)) return `${zone} must be a map with provider and its options`;
    const provider = dnsProviders.find(({ name }) => name === value['provider']);
    if (provider === undefined) return `${zone} needs a provider: ${names.join(', ')}`;
    if (zone === OTHER_ZONES && !provider.isHook)
      return `* stands for all other zones, which only the provider hook can have: name the zone of ${provider.name}`;
    const problem = problemOfOptions(provider, value);
    if (problem !== null) return `${zone} (${provider.name}) ${problem}`;
  }
  return null;
}

function problemOfOptions({ options }: DnsProvider, given: JsonObject): string | null {
  const known = Object.keys(options);
  const unknown = Object.keys(given).find((name) => name !== 'provider' && !known.includes(name));
  if (unknown !== undefined)
    return `has an unknown option ${JSON.stringify(unknown.slice(0, 40))}.${didYouMean(unknown, known)}`;
  for (const [name, option] of Object.entries(options)) {
    const value = given[name];
    if (value === undefined) {
      if (option.isRequired) return `lacks ${name}: ${option.description}`;
    } else if (!isAccepted(option, value)) {
      return option.kind === 'secret'
        ? `has ${name}, which is a secret: write ${SECRET_FORMS}, where the value is`
        : `has a ${name} that is not allowed: ${option.description}`;
    }
  }
  return null;
}

function isAccepted({ kind, accepts }: ProviderOption, value: JsonValue): boolean {
  if (typeof value !== 'string' || value === '') return false;
  return kind === 'secret' ? parseSecretReference(value) !== null : (accepts?.(value) ?? true);
}

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

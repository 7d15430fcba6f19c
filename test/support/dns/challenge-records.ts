import { setTimeout as sleep } from 'node:timers/promises';
import { ChallengeRecords, type ChallengeRecordsOptions } from '../../../src/proxy/dns/challenge-records.ts';
import type { DnsZone, ProviderPorts, ZoneRecords } from '../../../src/proxy/dns/dns-provider.ts';
import { openZone } from '../../../src/proxy/dns/dns-zones.ts';
import { createProviderFetch } from '../../../src/proxy/dns/provider-api.ts';
import type { DnsLookup } from '../../../src/proxy/dns/servers/dns-lookup.ts';

/** Secrets of the stand-ins, for references such as `${env:TOKEN}`. */
export const SECRETS = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/root',
  TOKEN: 'the-token-of-the-test',
  KEY_ID: 'AKIDEXAMPLE',
  SECRET_KEY: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  USERNAME: 'eabcdb41-d89f-4580-826f-3e62e9755ef2',
  PASSWORD: 'pbAXVjlIOE01xbut7YnAbkhMQIkcwoHO0ek2j4Q0',
  TSIG: Buffer.from('0123456789abcdef0123456789abcdef').toString('base64'),
  WRONG_TSIG: Buffer.from('fedcba9876543210fedcba9876543210').toString('base64'),
  POSTERN_ACME_EAB_KEY: 'secret',
  PGPASSWORD: 'secret',
};

export const ref = (name: string): string => `$\{env:${name}}`;

/** Waits are short, and counted. */
export function providerPorts(waits: number[] = []): ProviderPorts {
  return {
    fetch: createProviderFetch(),
    wait: async (ms, signal) => {
      waits.push(ms);
      await sleep(Math.min(ms, 20), undefined, { signal });
    },
    nowMs: () => Date.now(),
    addressesOf: async (host) => [host],
    env: SECRETS,
    hookTimeoutMs: 30_000,
  };
}

export function openTestZone(
  provider: string,
  options: Readonly<Record<string, string>>,
  { zone = 'example.com', waits = [] }: { readonly zone?: string; readonly waits?: number[] } = {},
): Promise<ZoneRecords> {
  return openZone({ zone, provider, options }, providerPorts(waits));
}

export const NO_DNS: DnsLookup = {
  aliasOf: async () => null,
  serversOf: async (zone) => ({ zone, servers: [] }),
  addressesOf: async (host) => [host],
};

export function challengeRecords(
  zones: readonly DnsZone[],
  lookup: Partial<DnsLookup>,
  overrides: Partial<Omit<ChallengeRecordsOptions, 'zones' | 'lookup'>> = {},
): ChallengeRecords {
  return new ChallengeRecords({
    zones,
    lookup: { ...NO_DNS, ...lookup },
    visibleMs: 60_000,
    ports: providerPorts(),
    ...overrides,
  });
}

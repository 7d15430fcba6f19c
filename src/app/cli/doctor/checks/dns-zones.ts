import { setTimeout as sleep } from 'node:timers/promises';
import { type Finding, findingTable } from '../../../../kit/findings.ts';
import { DnsFailure, type DnsZone } from '../../../../proxy/dns/dns-provider.ts';
import { openZone, providerOf } from '../../../../proxy/dns/dns-zones.ts';
import { createProviderFetch } from '../../../../proxy/dns/provider-api.ts';
import { type DnsLookup, systemDnsLookup } from '../../../../proxy/dns/servers/dns-lookup.ts';
import { askTxt } from '../../../../proxy/dns/servers/until-visible.ts';
import { mapConcurrently } from '../dial.ts';
import type { Installation } from '../installation.ts';

const TIMEOUT_MS = 20_000;

export interface DnsZonesOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lookup?: DnsLookup;
}

interface Failed {
  /** The zone and its provider. */
  readonly name: string;
  readonly reason: string;
}

const { found, ok } = findingTable('acme_dns', {
  dns_zone_failing: {
    level: 'problem',
    text: ({ name, reason }: Failed) => `${name}: ${reason}`,
    advice:
      'correct acme_dns, and run this command as the user of the server and with its environment, so that it can read the secrets',
  },
  name_servers_silent: {
    level: 'warning',
    text: ({ name, reason }: Failed) => `${name}: ${reason}`,
    advice:
      'orders wait until all name servers show a record: allow outgoing DNS (port 53), or set acme_dns_timeout to 0',
  },
});

/** Tries the credentials of each zone of acme_dns with a harmless read, and asks its name servers. */
export async function checkDnsZones(
  { config, isLocal }: Pick<Installation, 'config' | 'isLocal'>,
  { env, lookup = systemDnsLookup() }: DnsZonesOptions,
): Promise<readonly Finding[]> {
  if (config.acme !== 'on' || !isLocal) return [];
  const hookTimeoutMs = config.acme_dns_hook_timeout * 1000;
  const wait = async (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal });
  const fetch = createProviderFetch();
  const { addressesOf } = lookup;
  const ports = { fetch, wait, nowMs: () => Date.now(), addressesOf, env, hookTimeoutMs };
  const findings = await mapConcurrently(config.acme_dns, async (zone) => {
    const list: Finding[] = [];
    const name = `${zone.zone} (${zone.provider})`;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const records = await openZone(zone, ports);
      list.push(ok(`${name}: ${await records.check(signal)}`));
    } catch (error) {
      list.push(found('dns_zone_failing', { name, reason: reasonOf(error, signal) }));
    }
    if (!providerOf(zone).isHook && config.acme_dns_timeout > 0) {
      const reason = await silentServers(zone, lookup, signal);
      if (reason === null) list.push(ok(`${name}: all name servers of the zone answer`));
      else list.push(found('name_servers_silent', { name, reason }));
    }
    return list;
  });
  return findings.flat();
}

/** Null: all that can be reached from here answer. */
async function silentServers({ zone }: DnsZone, lookup: DnsLookup, signal: AbortSignal): Promise<string | null> {
  try {
    const { servers } = await lookup.serversOf(zone);
    const asked = servers.flatMap(({ host, addresses }) => addresses.map((server) => ({ host, server })));
    const silent = await mapConcurrently(asked, async ({ host, server }) => {
      const answer = await askTxt(server, `_acme-challenge.${zone}`, signal);
      return answer.kind === 'failed' ? [`${host} (${server.address}): ${answer.reason}`] : [];
    });
    return silent.flat().join('; ') || null;
  } catch (error) {
    return reasonOf(error, signal);
  }
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof DnsFailure) return error.message;
  if (signal.aborted) return `no response within ${TIMEOUT_MS / 1000} s`;
  throw error;
}

import { isJsonObject } from '../../../../kit/json.ts';
import { DnsFailure, type OpenedZone, type ZoneRecords } from '../../dns-provider.ts';
import { callApi, jsonOf, plainText, reasonOf } from '../../provider-api.ts';

const KEPT_VALUES = 2;

/**
 * https://github.com/joohoi/acme-dns: a registration is one name with the two latest values, enough for a domain and
 * its wildcard. Values are replaced and never removed. The same value twice would replace the other one as well.
 */
export function acmednsRecords(zone: OpenedZone): ZoneRecords {
  const base = zone.options['url'] as string;
  const subdomain = zone.options['subdomain'] ?? (zone.zone.split('.')[0] as string);
  let latest: readonly string[] = [];

  return {
    add: async ({ name, value }, signal) => {
      if (name !== zone.zone)
        throw new DnsFailure(
          `acme-dns serves ${zone.zone} only, and not ${name}: let the CNAME record of _acme-challenge lead to ${zone.zone}`,
        );
      if (latest.includes(value)) return;
      const [username, password] = [await zone.secret('username'), await zone.secret('password')];
      const request = {
        method: 'POST' as const,
        url: `${base}/update`,
        headers: () => ({ 'x-api-user': username, 'x-api-key': password, 'content-type': 'application/json' }),
        body: JSON.stringify({ subdomain, txt: value }),
      };
      const answer = await callApi(request, zone.ports, signal);
      const json = jsonOf(answer);
      if (answer.status === 200 && isJsonObject(json) && json['txt'] === value) {
        latest = [...latest, value].slice(-KEPT_VALUES);
        return;
      }
      const reason = isJsonObject(json) ? plainText(json['error']) || 'without a reason' : 'the answer is not JSON';
      throw new DnsFailure(
        `acme-dns: cannot update ${subdomain} (status ${answer.status}): ${reasonOf(reason, [username, password])}. Check username, password, subdomain and url in acme_dns, and the allowfrom of the registration`,
      );
    },
    remove: async () => {},
    check: async (signal) => {
      await zone.secret('username');
      await zone.secret('password');
      const request = { method: 'GET' as const, url: `${base}/health`, headers: () => ({}) };
      const { status } = await callApi(request, zone.ports, signal);
      if (status !== 200)
        throw new DnsFailure(`acme-dns: ${base}/health answers status ${status}: check url in acme_dns`);
      return 'the server answers; the credentials are tried with the first order';
    },
  };
}

import { isJsonObject, type JsonObject } from '../../../../kit/json.ts';
import { DnsFailure, type OpenedZone, type TxtRecord, type ZoneRecords } from '../../dns-provider.ts';
import { type ApiRequest, callApi, jsonOf, plainText, reasonOf } from '../../provider-api.ts';

const BASE_URL = 'https://api.cloudflare.com/client/v4';
/** The shortest that every plan has. */
const TTL = 60;
/** An identical record exists; the record does not exist. */
const [IDENTICAL, GONE]: [readonly number[], readonly number[]] = [[81_057, 81_058], [81_044]];

interface Envelope {
  readonly status: number;
  readonly isSuccess: boolean;
  readonly codes: readonly number[];
  readonly reason: string;
  readonly result: unknown;
}

/** https://developers.cloudflare.com/api: each value is a record of its own, with an id. */
export function cloudflareRecords(zone: OpenedZone): ZoneRecords {
  const base = zone.options['url'] ?? BASE_URL;

  async function call(
    method: ApiRequest['method'],
    path: string,
    body: object | null,
    signal: AbortSignal,
  ): Promise<Envelope> {
    const token = await zone.secret('token');
    const headers = (): Record<string, string> => ({
      authorization: `Bearer ${token}`,
      ...(body !== null && { 'content-type': 'application/json' }),
    });
    const request = { method, url: `${base}${path}`, headers, ...(body !== null && { body: JSON.stringify(body) }) };
    const answer = await callApi(request, zone.ports, signal);
    return { status: answer.status, ...envelopeOf(jsonOf(answer), token) };
  }

  async function zoneId(signal: AbortSignal): Promise<string> {
    const given = zone.options['zone_id'];
    if (given !== undefined) return given;
    const found = await call('GET', `/zones?name=${encodeURIComponent(zone.zone)}&per_page=5`, null, signal);
    if (!found.isSuccess) throw failure(`cannot look up the zone ${zone.zone}`, found);
    const match = itemsOf(found.result).find((item) => item['name'] === zone.zone);
    if (typeof match?.['id'] === 'string') return match['id'];
    throw new DnsFailure(
      `Cloudflare shows no zone ${zone.zone} to the token: check the name in acme_dns, and that the token includes the zone with Zone / Zone / Read`,
    );
  }

  async function recordsOf({ name }: TxtRecord, path: string, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const query = `type=TXT&name=${encodeURIComponent(name)}&per_page=100`;
    const found = await call('GET', `${path}?${query}`, null, signal);
    if (!found.isSuccess) throw failure(`cannot list the TXT records of ${name}`, found);
    return itemsOf(found.result).filter((item) => item['type'] === 'TXT' && item['name'] === name);
  }

  return {
    add: async (record, signal) => {
      const path = `/zones/${await zoneId(signal)}/dns_records`;
      const body = { type: 'TXT', name: record.name, content: `"${record.value}"`, ttl: TTL };
      const added = await call('POST', path, body, signal);
      if (added.isSuccess || added.codes.some((code) => IDENTICAL.includes(code))) return;
      throw failure(`cannot add the TXT record ${record.name}`, added);
    },
    remove: async (record, signal) => {
      const path = `/zones/${await zoneId(signal)}/dns_records`;
      for (const item of await recordsOf(record, path, signal)) {
        if (unquoted(item['content']) !== record.value) continue;
        const removed = await call('DELETE', `${path}/${encodeURIComponent(plainText(item['id']))}`, null, signal);
        const isGone = removed.status === 404 || removed.codes.some((code) => GONE.includes(code));
        if (!removed.isSuccess && !isGone) throw failure(`cannot remove the TXT record ${record.name}`, removed);
      }
    },
    check: async (signal) => {
      const path = `/zones/${await zoneId(signal)}/dns_records`;
      await recordsOf({ name: `_acme-challenge.${zone.zone}`, value: '' }, path, signal);
      return 'the token can read the records of the zone';
    },
  };
}

function envelopeOf(json: unknown, token: string): Omit<Envelope, 'status'> {
  if (!isJsonObject(json)) return { isSuccess: false, codes: [], reason: 'the answer is not JSON', result: null };
  const errors = Array.isArray(json['errors']) ? json['errors'].filter(isJsonObject) : [];
  const reasons = errors.map(({ code, message }) => `${plainText(message)} (${plainText(code)})`).join('; ');
  return {
    isSuccess: json['success'] === true,
    codes: errors.map(({ code }) => Number(code)),
    reason: reasonOf(reasons || 'without a reason', [token]),
    result: json['result'],
  };
}

function itemsOf(result: unknown): readonly JsonObject[] {
  return Array.isArray(result) ? result.filter(isJsonObject) : [];
}

/** The API accepts texts with and without quotation marks, and shows them as they were written. */
function unquoted(content: unknown): string {
  return plainText(content).replace(/^"(.*)"$/, '$1');
}

function failure(what: string, { status, reason }: Envelope): DnsFailure {
  const advice = status === 401 || status === 403 ? '. Check the token and its permissions in acme_dns' : '';
  return new DnsFailure(`Cloudflare: ${what} (status ${status}): ${reason}${advice}`);
}

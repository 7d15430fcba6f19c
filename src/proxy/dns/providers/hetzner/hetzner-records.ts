import { isJsonObject, type JsonObject } from '../../../../kit/json.ts';
import { DnsFailure, nameInZone, type OpenedZone, type TxtRecord, type ZoneRecords } from '../../dns-provider.ts';
import { callApi, jsonOf, plainText, reasonOf } from '../../provider-api.ts';

const BASE_URL = 'https://api.hetzner.cloud/v1';
/** The shortest that the API accepts. */
const TTL = 60;
const POLL_MS = 1_000;
const MAX_POLLS = 60;

interface Answer {
  readonly status: number;
  readonly json: JsonObject;
  readonly reason: string;
}

/** https://docs.hetzner.cloud/reference/cloud#zone-rrset-actions: values are added to a set and removed from it. */
export function hetznerRecords(zone: OpenedZone): ZoneRecords {
  const base = zone.options['url'] ?? BASE_URL;

  async function call(method: 'GET' | 'POST', path: string, body: object | null, signal: AbortSignal): Promise<Answer> {
    const token = await zone.secret('token');
    const headers = (): Record<string, string> => ({
      authorization: `Bearer ${token}`,
      ...(body !== null && { 'content-type': 'application/json' }),
    });
    const request = {
      method,
      url: `${base}${path}`,
      headers,
      isTemporary,
      ...(body !== null && { body: JSON.stringify(body) }),
    };
    const answer = await callApi(request, zone.ports, signal);
    const parsed = jsonOf(answer);
    const json = isJsonObject(parsed) ? parsed : {};
    return { status: answer.status, json, reason: reasonOf(errorText(json['error']), [token]) };
  }

  const setPath = ({ name }: TxtRecord): string =>
    `/zones/${zone.zone}/rrsets/${encodeURIComponent(nameInZone(name, zone.zone))}/TXT`;

  /** Null: the set does not exist. */
  async function valuesOf(record: TxtRecord, signal: AbortSignal): Promise<readonly string[] | null> {
    const found = await call('GET', setPath(record), null, signal);
    if (found.status === 404) return null;
    if (found.status !== 200) throw failure(`cannot read the TXT records of ${record.name}`, found);
    const set = found.json['rrset'];
    const records = isJsonObject(set) && Array.isArray(set['records']) ? set['records'] : [];
    return records.filter(isJsonObject).map(({ value }) => plainText(value));
  }

  async function change(record: TxtRecord, action: string, body: object, signal: AbortSignal): Promise<void> {
    const changed = await call('POST', `${setPath(record)}/actions/${action}`, body, signal);
    if (changed.status === 404 && action === 'remove_records') return;
    if (changed.status !== 201) throw failure(`cannot change the TXT record ${record.name} (${action})`, changed);
    let state = changed.json['action'];
    for (let polls = 0; isJsonObject(state) && state['status'] === 'running'; polls += 1) {
      if (polls === MAX_POLLS)
        throw new DnsFailure(`Hetzner: ${action} for ${record.name} does not end: try again later`);
      await zone.ports.wait(POLL_MS, signal);
      state = (await call('GET', `/actions/${encodeURIComponent(plainText(state['id']))}`, null, signal)).json[
        'action'
      ];
    }
    if (!isJsonObject(state) || state['status'] !== 'success')
      throw failure(`${action} for ${record.name} failed`, {
        ...changed,
        reason: errorText(isJsonObject(state) ? state['error'] : null),
      });
  }

  return {
    add: async (record, signal) => {
      const values = await valuesOf(record, signal);
      if (values?.includes(quoted(record)) === true) return;
      // The time to live belongs to the set: that of an existing one stays.
      const ttl = values === null ? { ttl: TTL } : {};
      await change(record, 'add_records', { ...ttl, records: [{ value: quoted(record) }] }, signal);
    },
    remove: async (record, signal) => {
      const values = await valuesOf(record, signal);
      if (values?.includes(quoted(record)) !== true) return;
      await change(record, 'remove_records', { records: [{ value: quoted(record) }] }, signal);
    },
    check: async (signal) => {
      const found = await call('GET', `/zones/${zone.zone}`, null, signal);
      if (found.status === 200) return 'the token can read the zone';
      throw failure(`cannot read the zone ${zone.zone}`, found);
    },
  };
}

/** Another change of the zone is in progress. */
function isTemporary(status: number, text: string): boolean {
  return (status === 423 || status === 409) && /"code":\s*"(?:locked|conflict)"/.test(text);
}

function quoted({ value }: TxtRecord): string {
  return `"${value}"`;
}

function errorText(error: unknown): string {
  return isJsonObject(error) ? `${plainText(error['message'])} (${plainText(error['code'])})` : 'without a reason';
}

function failure(what: string, { status, reason }: Pick<Answer, 'status' | 'reason'>): DnsFailure {
  const advice: Readonly<Record<number, string>> = {
    401: '. Check the token in acme_dns: it must be one of the Hetzner Console, not of the old DNS Console',
    403: '. The token needs read and write permission',
    404: '. Check the name of the zone in acme_dns, and that the token is of the project that has the zone',
  };
  return new DnsFailure(`Hetzner: ${what} (status ${status}): ${reason}${advice[status] ?? ''}`);
}

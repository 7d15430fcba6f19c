import { createHash, createHmac } from 'node:crypto';
import { KeyedMutex } from '../../../../kit/async/turns.ts';
import { shownText } from '../../../../kit/text/terminal-text.ts';
import { DnsFailure, type OpenedZone, type TxtRecord, type ZoneRecords } from '../../dns-provider.ts';
import { type ApiAnswer, type ApiRequest, callApi, withoutSecrets } from '../../provider-api.ts';

const BASE_URL = 'https://route53.amazonaws.com';
const VERSION = '/2013-04-01';
const TTL = '60';
const MAX_CONFLICTS = 8;
const CONFLICT_MS = 250;
const TEMPORARY_CODES: readonly string[] = [
  'Throttling',
  'ThrottlingException',
  'PriorRequestNotComplete',
  'ServiceUnavailable',
];

interface RecordSet {
  readonly ttl: string;
  /** With quotation marks, as the API shows them. */
  readonly values: readonly string[];
}

/**
 * https://docs.aws.amazon.com/Route53/latest/APIReference: a set of values is replaced as a whole. Each change
 * therefore deletes the set that was read and creates the new one, in one transaction that fails if another node was
 * faster.
 */
export function route53Records(zone: OpenedZone): ZoneRecords {
  const base = zone.options['url'] ?? BASE_URL;
  const turns = new KeyedMutex();

  async function call(
    method: ApiRequest['method'],
    path: string,
    body: string,
    signal: AbortSignal,
  ): Promise<ApiAnswer> {
    const credentials = await credentialsOf(zone);
    const url = `${base}${VERSION}${path}`;
    const type = body === '' ? {} : { 'content-type': 'application/xml' };
    const scope = { region: zone.options['region'] ?? 'us-east-1', service: 'route53' };
    const headers = () =>
      signRequest({ method, url, body, headers: type }, credentials, { ...scope, nowMs: zone.ports.nowMs() });
    const isTemporary = (_: number, text: string) => TEMPORARY_CODES.includes(textOf(text, 'Code') ?? '');
    const answer = await callApi(
      { method, url, headers, isTemporary, ...(body !== '' && { body }) },
      zone.ports,
      signal,
    );
    const { secretAccessKey, sessionToken } = credentials;
    const hidden = [secretAccessKey, ...(sessionToken === null ? [] : [sessionToken])];
    return answer.status === 200 ? answer : { ...answer, text: withoutSecrets(answer.text, hidden) };
  }

  async function zoneId(signal: AbortSignal): Promise<string> {
    const given = zone.options['hosted_zone_id'];
    if (given !== undefined) return given;
    const answer = await call(
      'GET',
      `/hostedzonesbyname?dnsname=${encodeURIComponent(`${zone.zone}.`)}&maxitems=10`,
      '',
      signal,
    );
    if (answer.status !== 200) throw failure(`cannot look up the hosted zone ${zone.zone}`, answer);
    const found = elementsOf(answer.text, 'HostedZone').filter(
      (each) => textOf(each, 'Name') === `${zone.zone}.` && textOf(each, 'PrivateZone') !== 'true',
    );
    if (found.length > 1)
      throw new DnsFailure(
        `Route 53 has several public hosted zones ${zone.zone}: name one with hosted_zone_id in acme_dns`,
      );
    const id = textOf(found[0] ?? '', 'Id')?.replace('/hostedzone/', '');
    if (id !== undefined && /^[A-Z0-9]{1,32}$/.test(id)) return id;
    throw new DnsFailure(
      `Route 53 shows no public hosted zone ${zone.zone}: check the name in acme_dns and the account of the access key, or set hosted_zone_id`,
    );
  }

  /** Null: the set does not exist. */
  async function setOf(id: string, { name }: TxtRecord, signal: AbortSignal): Promise<RecordSet | null> {
    const query = `name=${encodeURIComponent(`${name}.`)}&type=TXT&maxitems=1`;
    const answer = await call('GET', `/hostedzone/${id}/rrset?${query}`, '', signal);
    if (answer.status !== 200) throw failure(`cannot read the TXT records of ${name}`, answer);
    // The list begins at the name, so that it may be another one.
    const found = elementsOf(answer.text, 'ResourceRecordSet').find(
      (each) => textOf(each, 'Name') === `${name}.` && textOf(each, 'Type') === 'TXT',
    );
    if (found === undefined) return null;
    if (textOf(found, 'SetIdentifier') !== null)
      throw new DnsFailure(`Route 53: the TXT record ${name} has a routing policy: delete it, or use another name`);
    return { ttl: textOf(found, 'TTL') ?? TTL, values: elementsOf(found, 'Value').map(xmlText) };
  }

  /** `change` returns null where there is nothing to do. */
  async function changeSet(
    record: TxtRecord,
    change: (values: readonly string[]) => readonly string[] | null,
    signal: AbortSignal,
  ): Promise<void> {
    const id = await zoneId(signal);
    for (let conflicts = 0; ; conflicts += 1) {
      const before = await setOf(id, record, signal);
      const values = change(before?.values ?? []);
      if (values === null) return;
      const after = values.length === 0 ? null : { ttl: before?.ttl ?? TTL, values };
      const answer = await call('POST', `/hostedzone/${id}/rrset`, changeBatch(record, before, after), signal);
      if (answer.status === 200) return;
      if (!answer.text.includes('InvalidChangeBatch') || conflicts === MAX_CONFLICTS)
        throw failure(`cannot change the TXT record ${record.name}`, answer);
      await zone.ports.wait(CONFLICT_MS * (1 + conflicts), signal);
    }
  }

  return {
    add: (record, signal) =>
      turns.run(record.name, () =>
        changeSet(record, (values) => (values.includes(quoted(record)) ? null : [...values, quoted(record)]), signal),
      ),
    remove: (record, signal) =>
      turns.run(record.name, () =>
        changeSet(
          record,
          (values) => (values.includes(quoted(record)) ? values.filter((value) => value !== quoted(record)) : null),
          signal,
        ),
      ),
    check: async (signal) => {
      await setOf(await zoneId(signal), { name: `_acme-challenge.${zone.zone}`, value: '' }, signal);
      return 'the access key can read the hosted zone';
    },
  };
}

async function credentialsOf(zone: OpenedZone): Promise<AwsCredentials> {
  return {
    accessKeyId: await zone.secret('access_key_id'),
    secretAccessKey: await zone.secret('secret_access_key'),
    sessionToken: zone.options['session_token'] === undefined ? null : await zone.secret('session_token'),
  };
}

function changeBatch(record: TxtRecord, before: RecordSet | null, after: RecordSet | null): string {
  const changes = [
    ...(before === null ? [] : [changeOf('DELETE', record, before)]),
    ...(after === null ? [] : [changeOf('CREATE', record, after)]),
  ];
  return `<?xml version="1.0" encoding="UTF-8"?><ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeBatch><Changes>${changes.join('')}</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`;
}

function changeOf(action: 'CREATE' | 'DELETE', { name }: TxtRecord, { ttl, values }: RecordSet): string {
  const records = values.map((value) => `<ResourceRecord><Value>${escaped(value)}</Value></ResourceRecord>`).join('');
  return `<Change><Action>${action}</Action><ResourceRecordSet><Name>${escaped(name)}.</Name><Type>TXT</Type><TTL>${escaped(ttl)}</TTL><ResourceRecords>${records}</ResourceRecords></ResourceRecordSet></Change>`;
}

function quoted({ value }: TxtRecord): string {
  return `"${value}"`;
}

function failure(what: string, { status, text }: ApiAnswer): DnsFailure {
  const code = textOf(text, 'Code');
  const reason = shownText(textOf(text, 'Message') ?? 'without a reason');
  const advice =
    status === 403
      ? '. Check the access key in acme_dns, the clock of this server, and that the policy allows route53:ListHostedZonesByName, route53:ListResourceRecordSets and route53:ChangeResourceRecordSets'
      : '';
  return new DnsFailure(`Route 53: ${what} (status ${status}${code === null ? '' : ` ${code}`}): ${reason}${advice}`);
}

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

export interface SignedRequest {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  /** Signed with the others; in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface SigningScope {
  readonly region: string;
  readonly service: string;
  readonly nowMs: number;
}

/** All headers of the request, with its signature: AWS Signature Version 4. */
export function signRequest(
  { method, url, body, headers }: SignedRequest,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  { region, service, nowMs }: SigningScope,
): Record<string, string> {
  const { host, pathname, searchParams } = new URL(url);
  const time = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const signed: Record<string, string> = {
    ...headers,
    host,
    'x-amz-date': time,
    ...(sessionToken !== null && { 'x-amz-security-token': sessionToken }),
  };
  const names = Object.keys(signed).sort();
  const canonical = [
    method,
    pathname,
    canonicalQuery(searchParams),
    ...names.map((name) => `${name}:${signed[name]?.trim()}`),
    '',
    names.join(';'),
    sha256(body),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(canonical)}`).toString('hex');
  const { host: _, ...sent } = signed;
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

function canonicalQuery(parameters: URLSearchParams): string {
  const encoded = [...parameters].map(([name, value]) => [encode(name), encode(value)] as const);
  return encoded
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map((pair) => pair.join('='))
    .join('&');
}

/** RFC 3986: everything but the unreserved characters. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Contents of the elements with this name, in order. Route 53 nests no element in one of its name, and uses no
 * attributes.
 */
export function elementsOf(xml: string, name: string): readonly string[] {
  const found: string[] = [];
  const [open, close] = [`<${name}>`, `</${name}>`];
  for (let start = xml.indexOf(open); start !== -1; start = xml.indexOf(open, start)) {
    const end = xml.indexOf(close, start);
    if (end === -1) break;
    found.push(xml.slice(start + open.length, end));
    start = end + close.length;
  }
  return found;
}

/** Text of the first element with this name. */
export function textOf(xml: string, name: string): string | null {
  const [content] = elementsOf(xml, name);
  return content === undefined ? null : xmlText(content);
}

export function xmlText(content: string): string {
  return content.replaceAll(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(\w{1,8}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[String(name)] ?? String(whole);
    const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
    return code <= 0x10_ffff ? String.fromCodePoint(code) : String(whole);
  });
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

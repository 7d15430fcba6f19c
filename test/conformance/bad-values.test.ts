import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { hostilePem } from '../support/hostile-pem.ts';
import { shareOfCases } from '../support/share-of-cases.ts';
import type { RequestOptions, TestWorld } from '../support/test-world.ts';
import { assertRefused, type ExpectedError } from './api-error.ts';
import { makeCertificate } from './certificates.ts';
import { onBothEngines } from './engine-worlds.ts';
import { FurnishedWorld } from './furnished-world.ts';
import { newId } from './interface-parents.ts';

/** A request that the schema alone would accept, and the expected error. */
interface BadValue extends ExpectedError {
  readonly title: string;
  /** Method and path; `{edghts}` and the like stand for furnished ids. */
  readonly request: string;
  readonly body: (furnished: FurnishedWorld) => unknown;
  readonly options?: RequestOptions;
}

const EDGES = 'POST /edges/https';
const ROUTES = 'POST /edges/https/{edghts}/routes';
const ROUTE = '/edges/https/{edghts}/routes/{edghtsrt}';
const MUTUAL_TLS = 'PUT /edges/https/{edghts}/mutual_tls';
const SUBSCRIPTIONS = 'POST /event_subscriptions';
const DESTINATIONS = 'POST /event_destinations';

const hostports: readonly (readonly [string, RegExp])[] = [
  ['app.example.com', /must be "host:port"/],
  ['app.example.com:', /port from 1 to 65535/],
  ['app.example.com:0', /port from 1 to 65535/],
  ['app.example.com:65536', /port from 1 to 65535/],
  ['app.example.com:0443', /port from 1 to 65535/],
  ['app.example.com:+443', /port from 1 to 65535/],
  ['app.example.com:443 ', /port from 1 to 65535/],
  ['app.example.com:https', /port from 1 to 65535/],
  ['app.example.com:8443', /visitors can use 443 or 7443/],
  [':443', /empty host/],
  ['*:443', /"\*" only as its whole first label/],
  ['*.*.example.com:443', /"\*" only as its whole first label/],
  ['a*.example.com:443', /"\*" only as its whole first label/],
  ['app.*.example.com:443', /"\*" only as its whole first label/],
  ['10.0.0.1:443', /IP address/],
  ['[::1]:443', /not a host name/],
  ['::1:443', /not a host name/],
  ['bücher.example.com:443', /xn-- form/],
  ['\u212Aube.example.com:443', /xn-- form/],
  ['app..example.com:443', /not a host name/],
  ['app.example.com.:443', /not a host name/],
  ['-app.example.com:443', /not a host name/],
  [`${'a'.repeat(64)}.example.com:443`, /1 to 63 letters/],
  [`${'a.'.repeat(126)}aa:443`, /more than 253 characters/],
  ['https://app.example.com:443', /not a host name/],
  ['app.example.com/x:443', /not a host name/],
  ['app.example.com\u0000:443', /not a host name/],
];

const matches: readonly (readonly [string, RegExp])[] = [
  ['', /must not have fewer than 1 characters.*starting with "\/"/],
  ['admin', /must start with "\/"/],
  ['/a?b', /"\?" or "#"/],
  ['/a#b', /"\?" or "#"/],
  ['/a b', /percent-encode/],
  ['/ä', /percent-encode/],
  ['/a\u0000', /percent-encode/],
  ['/a\\b', /backslash/],
  ['/a%5cb', /backslash/],
  ['//', /empty segment/],
  ['/a//b', /empty segment/],
  ['/a/./b', /segments/],
  ['/a/..', /segments/],
  ['/%2e%2E/a', /segments/],
  ['/a%', /"%" that is not an escape/],
  ['/a%zz', /"%" that is not an escape/],
  ['/a%00b', /control characters/],
  ['/a%09b', /control characters/],
  ['/a/;b', /consists only of parameters/],
  ['/a%2Fb', /rejects ambiguous paths/],
  ['/a;b', /rejects ambiguous paths/],
  [`/${'a'.repeat(2048)}`, /at most 2048/],
];

const issuers: readonly (readonly [string, RegExp])[] = [
  ['accounts.example.com', /absolute URL such as/],
  ['https://', /absolute URL such as/],
  ['ftp://accounts.example.com', /https URL/],
  ['http://accounts.example.com', /must be https.*POSTERN_OIDC_HTTP_ISSUERS/],
  ['http://127.0.0.1.example.com', /must be https/],
  ['http://localhost.example.com', /must be https/],
  ['https://accounts.example.com?', /must not have a query or fragment/],
  ['https://accounts.example.com/?a=b', /must not have a query or fragment/],
  ['https://accounts.example.com#', /must not have a query or fragment/],
  ['https://user:secret@accounts.example.com', /user name or password/],
  [' https://accounts.example.com', /spaces/],
  ['https://accounts.example.com\\x', /backslashes/],
  ['https://accounts.example.com/\u0000', /control characters/],
  ['javascript:alert(1)', /https URL/],
];

const addresses: readonly (readonly [string, RegExp])[] = [
  ['10.0.0.5', /"host:port"/],
  ['10.0.0.5:0', /"host:port"/],
  ['10.0.0.5:65536', /"host:port"/],
  ['::1:80', /"host:port"/],
  ['[10.0.0.5]:80', /not an IPv6 address/],
  ['[fe80::1%eth0]:80', /not an IPv6 address/],
  ['*.example.com:80', /wildcard/],
  ['300.0.0.1:80', /IP address/],
  ['user@host:80', /not a host name/],
];

const cidrs: readonly (readonly [string, RegExp])[] = [
  ['203.0.113.0', /address with a prefix length/],
  ['203.0.113.0/33', /address with a prefix length/],
  ['203.0.113.5/24', /use "203\.0\.113\.0\/24"/],
  ['2001:db8::1/32', /use "2001:db8::\/32"/],
  ['0203.0.113.0/24', /address with a prefix length/],
  ['203.0.113/24', /address with a prefix length/],
  ['0x7f000001/32', /address with a prefix length/],
  ['::/129', /address with a prefix length/],
  ['word/8', /address with a prefix length/],
];

const cookiePrefixes = ['a b', 'a;b', 'a=b', 'a,b', 'ä', '"', 'a\u0000', 'a\n', '(', 'x'.repeat(129)];
const scopes = ['open id', '"', 'a\\b', 'ä', 'a\n'];

const each = <Row extends readonly [string, RegExp]>(
  rows: readonly Row[],
  field: string,
  make: (value: string) => Omit<BadValue, 'title' | 'status' | 'field' | 'says'>,
): readonly BadValue[] =>
  rows.map(([value, says]) => ({
    ...make(value),
    title: `${field} ${JSON.stringify(value.slice(0, 60))}`,
    status: 400,
    field: `/${field}`,
    says,
  }));

const unknownIds = (prefix: string): readonly (readonly [string, string])[] => [
  ['unknown', newId(prefix)],
  ['of another kind', newId('ak')],
  ['malformed', 'word'],
  ['with odd bytes', '\u0000'],
];

const references: readonly BadValue[] = [
  ...unknownIds('bkdsc').map(([what, id]) => reference(`PUT ${ROUTE}/backend`, 'backend_id', what, id, id)),
  ...unknownIds('ca').map(([what, id]) => reference(MUTUAL_TLS, 'certificate_authority_ids', what, id, [id])),
  ...unknownIds('ipp').map(([what, id]) => reference(`PUT ${ROUTE}/ip_restriction`, 'ip_policy_ids', what, id, [id])),
  ...unknownIds('bkdsc').map(([what, id]) => reference('POST /backends/failover', 'backends', what, id, [id])),
  ...unknownIds('bkdsc').map(([what, id]) => reference('POST /backends/weighted', 'backends', what, id, { [id]: 1 })),
  ...unknownIds('ed').map(([what, id]) => reference(SUBSCRIPTIONS, 'destination_ids', what, id, [id])),
  ...unknownIds('ipp').map(([what, id]) =>
    reference('POST /ip_policy_rules', 'ip_policy_id', what, id, id, { cidr: '192.0.2.0/24' }),
  ),
  ...unknownIds('cert').map(([what, id]) =>
    reference('POST /reserved_domains', 'certificate_id', what, id, id, { domain: 'refers.localhost' }),
  ),
  ...unknownIds('cert').map(([what, id]) => reference('PATCH /reserved_domains/{rd}', 'certificate_id', what, id, id)),
  ...unknownIds('ca').map(([what, id]) => ({
    ...reference(EDGES, 'mutual_tls', what, id, { certificate_authority_ids: [id] }),
    field: '/mutual_tls/certificate_authority_ids',
  })),
  ...unknownIds('ca').map(([what, id]) => ({
    ...reference('PATCH /edges/https/{edghts}', 'mutual_tls', what, id, { certificate_authority_ids: [id] }),
    field: '/mutual_tls/certificate_authority_ids',
  })),
  ...unknownIds('bkdsc').map(([what, id]) => ({
    ...reference(ROUTES, 'backend', what, id, { backend_id: id }, { match_type: 'exact_path', match: '/x' }),
    field: '/backend/backend_id',
  })),
];

function reference(
  request: string,
  field: string,
  what: string,
  id: string,
  value: unknown,
  more: object = {},
): BadValue {
  return {
    title: `${field} with an id that is ${what}`,
    request,
    body: () => ({ ...more, [field]: value }),
    status: 400,
    code: 'ERR_POSTERN_UNKNOWN_REFERENCE',
    field: `/${field}`,
    says: `names ${JSON.stringify(id).replace('\\u0000', '\u0000')}`,
  };
}

const badValues: readonly BadValue[] = [
  ...each(hostports, 'hostports', (value) => ({
    request: EDGES,
    body: () => ({ hostports: ['ok.localhost:443', value] }),
  })),
  ...each(hostports.slice(0, 3), 'hostports', (value) => ({
    request: 'PATCH /edges/https/{edghts}',
    body: () => ({ hostports: [value] }),
  })),
  ...each(matches, 'match', (value) => ({
    request: ROUTES,
    body: () => ({ match_type: 'path_prefix', match: value }),
  })),
  ...each(matches.slice(1, 3), 'match', (value) => ({ request: `PATCH ${ROUTE}`, body: () => ({ match: value }) })),
  ...each(issuers, 'issuer', (value) => ({ request: `PUT ${ROUTE}/oidc`, body: () => ({ issuer: value }) })),
  ...each(addresses, 'address', (value) => ({ request: 'POST /backends/static', body: () => ({ address: value }) })),
  ...each(cidrs, 'cidr', (value) => ({
    request: 'POST /ip_policy_rules',
    body: (furnished) => ({ cidr: value, ip_policy_id: furnished.id('ipp') }),
  })),
  ...cookiePrefixes.map((value) => ({
    title: `cookie_prefix ${JSON.stringify(value.slice(0, 40))}`,
    request: `PUT ${ROUTE}/oidc`,
    body: () => ({ cookie_prefix: value }),
    status: 400,
    field: '/cookie_prefix',
    says: 'cookie_prefix must',
  })),
  ...scopes.map((value) => ({
    title: `a scope ${JSON.stringify(value)}`,
    request: `PUT ${ROUTE}/oidc`,
    body: () => ({ scopes: ['openid', value] }),
    status: 400,
    field: '/scopes/1',
    says: 'without spaces',
  })),
  ...references,
  {
    title: 'a host that another edge has, whatever its case and port',
    request: EDGES,
    body: () => ({ hostports: ['FURNISHED.localhost:7443'] }),
    status: 409,
    code: 'ERR_POSTERN_ALREADY_EXISTS',
    field: '/hostports',
    says: /hostports .*"furnished\.localhost".*edghts_.*choose another/,
  },
  {
    title: 'a host twice in one edge',
    request: EDGES,
    body: () => ({ hostports: ['twice.localhost:443', 'TWICE.localhost:443'] }),
    status: 400,
    field: '/hostports',
    says: 'twice: list each one once',
  },
  {
    title: 'a match that another route of the edge has',
    request: ROUTES,
    body: () => ({ match_type: 'exact_path', match: '/furnished' }),
    status: 409,
    code: 'ERR_POSTERN_ALREADY_EXISTS',
    field: '/match',
    says: /match .*"exact_path \/furnished".*edghtsrt_/,
  },
  {
    title: 'a domain that is reserved already',
    request: 'POST /reserved_domains',
    body: () => ({ domain: 'Furnished.LOCALHOST' }),
    status: 409,
    code: 'ERR_POSTERN_ALREADY_EXISTS',
    field: '/domain',
    says: /domain .*"furnished\.localhost".*rd_/,
  },
  {
    title: 'a domain whose letters only look like ASCII when lower-cased',
    request: 'POST /reserved_domains',
    body: () => ({ domain: '\u212Aube.localhost' }),
    status: 400,
    field: '/domain',
    says: 'xn-- form',
  },
  {
    title: 'a domain with a certificate of its own and a managed one',
    request: 'POST /reserved_domains',
    body: (furnished) => ({
      domain: 'both.localhost',
      certificate_id: furnished.id('cert'),
      certificate_management_policy: { authority: 'internal' },
    }),
    status: 400,
    field: '/certificate_management_policy',
    says: 'send one of them',
  },
  {
    title: 'mutual_tls without authorities',
    request: MUTUAL_TLS,
    body: () => ({}),
    status: 400,
    field: '/certificate_authority_ids',
    says: /1 to 10 .*POST \/certificate_authorities/,
  },
  {
    title: 'mutual_tls with eleven authorities',
    request: MUTUAL_TLS,
    body: (furnished) => ({
      certificate_authority_ids: Array.from({ length: 11 }, (_, index) => furnished.id('ca', index)),
    }),
    status: 400,
    field: '/certificate_authority_ids',
    says: '1 to 10',
  },
  {
    title: 'mutual_tls with an authority twice',
    request: MUTUAL_TLS,
    body: (furnished) => ({
      certificate_authority_ids: [furnished.id('ca'), furnished.id('ca', 1), furnished.id('ca')],
    }),
    status: 400,
    field: '/certificate_authority_ids',
    says: 'twice: list each certificate authority once',
  },
  {
    title: 'mutual_tls whose two spellings of the authorities differ',
    request: MUTUAL_TLS,
    body: (furnished) => ({
      certificate_authority_ids: [furnished.id('ca')],
      certificate_authorities: [{ id: furnished.id('ca', 1), uri: '' }],
    }),
    status: 400,
    field: '/certificate_authorities',
  },
  {
    title: 'a misspelled field of an inline module',
    request: 'PATCH /edges/https/{edghts}',
    body: () => ({ tls_termination: { min_verison: '1.3' } }),
    status: 400,
    field: '/tls_termination/min_verison',
    says: 'Did you mean "min_version"',
  },
  {
    title: 'ip_restriction without policies',
    request: `PUT ${ROUTE}/ip_restriction`,
    body: () => ({}),
    status: 400,
    field: '/ip_policy_ids',
    says: /1 to 10 .*POST \/ip_policies/,
  },
  {
    title: 'ip_restriction with a policy twice',
    request: `PUT ${ROUTE}/ip_restriction`,
    body: (furnished) => ({ ip_policy_ids: [furnished.id('ipp'), furnished.id('ipp')] }),
    status: 400,
    field: '/ip_policy_ids',
    says: 'twice',
  },
  {
    title: 'tls_termination that ends elsewhere',
    request: 'PUT /edges/https/{edghts}/tls_termination',
    body: () => ({ terminate_at: 'upstream' }),
    status: 400,
    field: '/terminate_at',
  },
  {
    title: 'a module wrapped with something beside it',
    request: `PUT ${ROUTE}/compression`,
    body: () => ({ module: {}, enabled: false }),
    status: 400,
    field: '/module',
  },
  {
    title: 'a module wrapped around something else',
    request: `PUT ${ROUTE}/compression`,
    body: () => ({ module: [] }),
    status: 400,
    field: '/module',
  },
  {
    title: 'a module wrapped twice',
    request: `PUT ${ROUTE}/compression`,
    body: () => ({ module: { module: {} } }),
    status: 400,
    field: '/module',
  },
  {
    title: 'a misspelled field of a wrapped module',
    request: `PUT ${ROUTE}/compression`,
    body: () => ({ module: { enabeld: false } }),
    status: 400,
    field: '/enabeld',
    says: 'Did you mean "enabled"',
  },
  {
    title: 'weights that are all 0',
    request: 'POST /backends/weighted',
    body: (furnished) => ({ backends: { [furnished.id('bkdsc')]: 0 } }),
    status: 400,
    field: '/backends',
    says: 'weight above 0',
  },
  ...[-1, 10_001, 1.5, '5', true, null].map((weight) => ({
    title: `a weight of ${JSON.stringify(weight)}`,
    request: 'PATCH /backends/weighted/{bkdwd}',
    body: (furnished: FurnishedWorld) => ({ backends: { [furnished.id('bkdsc')]: weight } }),
    status: 400,
    says: 'from 0 to 10000',
  })),
  {
    title: 'a backend twice in a failover',
    request: 'POST /backends/failover',
    body: (furnished) => ({ backends: [furnished.id('bkdsc'), furnished.id('bkdsc')] }),
    status: 400,
    field: '/backends',
    says: 'twice',
  },
  {
    title: 'a failover that names itself',
    request: 'PATCH /backends/failover/{bkdfo}',
    body: (furnished) => ({ backends: [furnished.id('bkdfo')] }),
    status: 400,
    code: 'ERR_POSTERN_REFERENCE_CYCLE',
    field: '/backends',
    says: 'refer to itself',
  },
  {
    title: 'a weighted that names itself',
    request: 'PATCH /backends/weighted/{bkdwd}',
    body: (furnished) => ({ backends: { [furnished.id('bkdwd')]: 1 } }),
    status: 400,
    code: 'ERR_POSTERN_REFERENCE_CYCLE',
    field: '/backends',
  },
  {
    title: 'a circle through weighted and failover',
    request: 'PATCH /backends/failover/{bkdfo}',
    body: (furnished) => ({ backends: [furnished.id('bkdsc'), furnished.id('bkdwd', 1)] }),
    status: 400,
    code: 'ERR_POSTERN_REFERENCE_CYCLE',
    field: '/backends',
  },
  {
    title: 'a label without a name',
    request: 'POST /backends/tunnel_group',
    body: () => ({ labels: { '': 'x' } }),
    status: 400,
    field: '/labels',
    says: 'name is empty',
  },
  {
    title: 'a label without a value',
    request: 'POST /backends/tunnel_group',
    body: () => ({ labels: { app: '' } }),
    status: 400,
    field: '/labels',
    says: 'value is empty',
  },
  {
    title: 'a label whose name holds "="',
    request: 'POST /backends/tunnel_group',
    body: () => ({ labels: { 'a=b': 'x' } }),
    status: 400,
    field: '/labels',
  },
  ...['\n', '\r', '\u2028', '\u2029'].map((separator) => ({
    title: `a label that is no text, with ${JSON.stringify(separator)} in its name`,
    request: 'POST /backends/tunnel_group',
    body: () => ({ labels: { [`a${separator}b`]: 7 } }),
    status: 400,
    says: 'labels."a',
  })),
  {
    title: 'a header of the framing',
    request: 'POST /backends/http_response',
    body: () => ({ headers: { 'Transfer-Encoding': 'chunked' } }),
    status: 400,
    field: '/headers',
    says: 'Transfer-Encoding',
  },
  {
    title: 'a header with a line break',
    request: 'POST /backends/http_response',
    body: () => ({ headers: { 'x-a': 'a\r\nb: c' } }),
    status: 400,
    field: '/headers',
    says: '"x-a"',
  },
  {
    title: 'a header name with a space',
    request: 'POST /backends/http_response',
    body: () => ({ headers: { 'x a': 'b' } }),
    status: 400,
    field: '/headers',
  },
  {
    title: 'a header twice',
    request: 'POST /backends/http_response',
    body: () => ({ headers: { 'x-a': '1', 'X-A': '2' } }),
    status: 400,
    field: '/headers',
    says: 'twice',
  },
  {
    title: 'metadata of 4096 characters but more bytes',
    request: 'POST /ip_policies',
    body: () => ({ metadata: 'ä'.repeat(4096) }),
    status: 400,
    field: '/metadata',
    says: '4096 bytes',
  },
  {
    title: 'an acl rule without "bind:"',
    request: 'POST /credentials',
    body: () => ({ acl: ['app.example.com'] }),
    status: 400,
    field: '/acl',
    says: 'start with "bind:"',
  },
  {
    title: 'an acl rule for a module that agents do not have',
    request: 'POST /credentials',
    body: () => ({ acl: ['bind:*', 'configure:backend'] }),
    status: 400,
    field: '/acl',
    says: 'names no module that agents can configure',
  },
  {
    title: 'an acl rule for an odd host',
    request: 'POST /credentials',
    body: () => ({ acl: ['bind:a b'] }),
    status: 400,
    field: '/acl',
    says: 'not a host name',
  },
  {
    title: 'an acl rule for an odd label',
    request: 'POST /credentials',
    body: () => ({ acl: ['bind:=x'] }),
    status: 400,
    field: '/acl',
  },
  {
    title: 'a key without scopes',
    request: 'POST /api_keys',
    body: () => ({ scopes: [] }),
    status: 400,
    field: '/scopes',
    says: 'omit it for all',
  },
  {
    title: 'a key with an unknown scope',
    request: 'POST /api_keys',
    body: () => ({ scopes: ['edges:wirte'] }),
    status: 400,
    field: '/scopes',
    says: 'Did you mean "edges:write"? Scopes: ',
  },
  {
    title: 'a key with a scope twice',
    request: 'POST /api_keys',
    body: () => ({ scopes: ['edges:read', 'edges:read'] }),
    status: 400,
    field: '/scopes',
    says: 'twice',
  },
  {
    title: 'a token with an odd time of expiry',
    request: 'POST /service_account_tokens',
    body: (furnished) => ({ service_account_id: furnished.id('sa'), expires_at: 'tomorrow' }),
    status: 400,
    field: '/expires_at',
    says: 'RFC 3339',
  },
  {
    title: 'a token that has expired already',
    request: 'POST /service_account_tokens',
    body: (furnished) => ({ service_account_id: furnished.id('sa'), expires_at: '2020-01-01T00:00:00Z' }),
    status: 400,
    field: '/expires_at',
    says: 'in the past',
  },
  {
    title: 'a token moved to another account',
    request: 'PATCH /service_account_tokens/{sat}',
    body: (furnished) => ({ service_account_id: furnished.id('sa') }),
    status: 400,
    field: '/service_account_id',
    says: 'cannot be changed',
  },
  {
    title: 'a rule moved to another policy',
    request: 'PATCH /ip_policy_rules/{ipr}',
    body: (furnished) => ({ ip_policy_id: furnished.id('ipp') }),
    status: 400,
    field: '/ip_policy_id',
    says: 'cannot be changed',
  },
  {
    title: 'a rule that turns around',
    request: 'PATCH /ip_policy_rules/{ipr}',
    body: () => ({ action: 'deny' }),
    status: 400,
    field: '/action',
    says: 'cannot be changed',
  },
  {
    title: 'a certificate authority that becomes another',
    request: 'PATCH /certificate_authorities/{ca}',
    body: () => ({ ca_pem: 'x' }),
    status: 400,
    field: '/ca_pem',
    says: 'cannot be changed',
  },
  {
    title: 'a type that is no event type',
    request: 'POST /event_subscriptions/{esb}/sources',
    body: () => ({ type: 'ip_polcy_created.v0' }),
    status: 400,
    code: 'ERR_POSTERN_UNKNOWN_EVENT_TYPE',
    field: '/type',
    says: /type .*Did you mean "ip_policy_created\.v0".*GET \/event_types/,
  },
  {
    title: 'a type that is there',
    request: 'POST /event_subscriptions/{esb}/sources',
    body: () => ({ type: 'ip_policy_created.v0' }),
    status: 409,
    code: 'ERR_POSTERN_EVENT_SOURCE_EXISTS',
    field: '/type',
    says: 'already includes "ip_policy_created.v0"',
  },
  {
    title: 'a subscription with an unknown type',
    request: SUBSCRIPTIONS,
    body: () => ({ sources: [{ type: 'tunnel_start.v0' }, { type: 'tunnel_strat.v0' }] }),
    status: 400,
    field: '/sources/1/type',
    says: 'Did you mean "tunnel_start.v0"',
  },
  {
    title: 'a subscription with a type twice',
    request: SUBSCRIPTIONS,
    body: () => ({ sources: [{ type: 'tunnel_start.v0' }, { type: 'tunnel_start.v0' }] }),
    status: 400,
    field: '/sources/1/type',
    says: 'twice',
  },
  {
    title: 'a source with a misspelled field',
    request: SUBSCRIPTIONS,
    body: () => ({ sources: [{ type: 'tunnel_start.v0', typ: 'x' }] }),
    status: 400,
    field: '/sources/0/typ',
    says: 'Did you mean "type"',
  },
  {
    title: 'a source without its type',
    request: SUBSCRIPTIONS,
    body: () => ({ sources: [{}] }),
    status: 400,
    field: '/sources/0/type',
    says: 'is required. An event type, such as',
  },
  {
    title: 'a subscription with a destination twice',
    request: SUBSCRIPTIONS,
    body: (furnished) => ({ destination_ids: [furnished.id('ed'), furnished.id('ed')] }),
    status: 400,
    field: '/destination_ids',
    says: 'twice',
  },
  {
    title: 'a destination without a target',
    request: DESTINATIONS,
    body: () => ({ target: {} }),
    status: 400,
    field: '/target',
    says: 'exactly one of "webhook", "file"',
  },
  {
    title: 'a destination with two targets',
    request: DESTINATIONS,
    body: () => ({ target: { webhook: { url: 'https://x.example' }, file: { name: 'a' } } }),
    status: 400,
    field: '/target',
    says: 'exactly one of',
  },
  {
    title: 'a destination that becomes another kind',
    request: 'PATCH /event_destinations/{ed}',
    body: () => ({ target: { file: { name: 'a.ndjson' } } }),
    status: 400,
    field: '/target',
    says: 'create another destination',
  },
  ...[
    'hooks.example.com',
    'ftp://hooks.example.com',
    'https://u:p@hooks.example.com',
    'https://hooks.example.com/#x',
    'https://hooks.example.com/ x',
  ].map((url) => ({
    title: `a webhook to ${url}`,
    request: DESTINATIONS,
    body: () => ({ target: { webhook: { url } } }),
    status: 400,
    field: '/target/webhook/url',
    says: 'target.webhook.url must',
  })),
  {
    title: 'a webhook with a header of its own making',
    request: DESTINATIONS,
    body: () => ({ target: { webhook: { url: 'https://x.example', headers: { 'Webhook-Id': 'x' } } } }),
    status: 400,
    field: '/target/webhook/headers',
    says: 'Webhook-Id',
  },
  {
    title: 'a webhook with the mask for a header that is not stored',
    request: DESTINATIONS,
    body: () => ({ target: { webhook: { url: 'https://x.example', headers: { 'x-a': '********' } } } }),
    status: 400,
    field: '/target/webhook/headers',
    says: 'stands for',
  },
  ...['../x', 'a/b', '.hidden', 'a..b', 'a b', 'x\u0000'].map((name) => ({
    title: `a file called ${JSON.stringify(name)}`,
    request: DESTINATIONS,
    body: () => ({ target: { file: { name } } }),
    status: 400,
    field: '/target/file/name',
    says: 'without directories',
  })),
  ...['yesterday', '2026-13-01T00:00:00Z', '2026-02-30T00:00:00', '2026-01-01'].map((since) => ({
    title: `deliveries since ${since}`,
    request: 'POST /event_deliveries/replay',
    body: () => ({ since }),
    status: 400,
    field: '/since',
    says: 'RFC 3339',
  })),
];

onBothEngines('a value that makes no sense', (world, engine) => {
  let furnished: FurnishedWorld;
  before(async () => {
    furnished = await furnishMore(world());
  });

  // Validation comes before the store.
  for (const { title, request, body, options, ...expected } of shareOfCases(badValues, engine, 2)) {
    test(`${title} → ${expected.status}`, async () => {
      const [method, path] = request.split(' ') as [string, string];
      const filled = path.replaceAll(/\{([a-z]+)\}/g, (_, prefix: string) => furnished.id(prefix));
      await assertRefused(world(), () => world().api(method, filled, body(furnished), options), expected);
    });
  }

  test('text that is not a certificate authority', async () => {
    const { authority, server } = furnished;
    const second = await makeCertificate({ commonName: 'second', isCa: true });
    const broken = authority.certificatePem.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
    const rows: readonly (readonly [string, RegExp])[] = [
      ['word', /contains no PEM block/],
      ['-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n', /./],
      ['-----BEGIN CERTIFICATE-----\nword\n', /./],
      [broken, /cannot be decoded/],
      [server.certificatePem, /not a CA certificate \(basicConstraints/],
      [authority.certificatePem + second.certificatePem, /exactly one certificate/],
      [authority.keyPem, /only CERTIFICATE blocks/],
      [authority.certificatePem + authority.keyPem, /only CERTIFICATE blocks/],
      [hostilePem(30), /not base64/],
      [
        (await makeCertificate({ commonName: 'odd', isCa: true, hasBrokenKeyUsage: true })).certificatePem,
        /cannot be decoded/,
      ],
    ];
    for (const [pem, says] of rows) {
      const answer = await assertRefused(
        world(),
        () => world().api('POST', '/certificate_authorities', { ca_pem: pem }),
        { status: 400, field: '/ca_pem', says },
      );
      assert.doesNotMatch(answer.text, /PRIVATE KEY-----/);
    }
  });

  test('certificates and keys that do not match', async () => {
    const { authority, server } = furnished;
    const stranger = await makeCertificate({ commonName: 'stranger' });
    const odd = await makeCertificate({ commonName: 'odd', hasBrokenKeyUsage: true });
    const rows: readonly (readonly [string, string, string, RegExp])[] = [
      [server.certificatePem, stranger.keyPem, 'private_key_pem', /does not match the first certificate/],
      [server.certificatePem, 'word', 'private_key_pem', /not a PEM private key: send it unencrypted/],
      [server.certificatePem, server.certificatePem, 'private_key_pem', /not a PEM private key/],
      [server.keyPem, server.keyPem, 'certificate_pem', /./],
      ['word', server.keyPem, 'certificate_pem', /not a PEM certificate chain/],
      [hostilePem(30), server.keyPem, 'certificate_pem', /not a PEM certificate chain/],
      [server.certificatePem, hostilePem(30, 'PRIVATE KEY'), 'private_key_pem', /not a PEM private key/],
      [server.certificatePem + stranger.certificatePem, server.keyPem, 'certificate_pem', /out of order/],
      [authority.certificatePem + server.certificatePem, authority.keyPem, 'certificate_pem', /out of order/],
      [odd.certificatePem, odd.keyPem, 'certificate_pem', /not a PEM certificate chain/],
    ];
    for (const [certificate_pem, private_key_pem, field, says] of rows) {
      const body = { certificate_pem, private_key_pem };
      const answer = await assertRefused(world(), () => world().api('POST', '/tls_certificates', body), {
        status: 400,
        field: `/${field}`,
        says,
      });
      assert.doesNotMatch(answer.text, /PRIVATE KEY-----.*[A-Za-z0-9+/]{40}/s, 'the key is not quoted');
    }
  });

  test('a referenced resource cannot be deleted, and details name the referrers', async () => {
    const rows: readonly (readonly [string, string])[] = [
      [`/backends/static/${furnished.id('bkdsc')}`, furnished.id('bkdfo')],
      [`/backends/failover/${furnished.id('bkdfo')}`, furnished.id('bkdwd', 1)],
    ];
    for (const [path, referrer] of rows) {
      const answer = await assertRefused(world(), () => world().api('DELETE', path), {
        status: 409,
        code: 'ERR_POSTERN_IN_USE',
        says: referrer,
      });
      assert.ok(answer.body.details.referred_by.split(',').includes(referrer));
    }
  });

  test('accepts the limits themselves', async () => {
    const id = (prefix: string, index = 0): string => furnished.id(prefix, index);
    const ten = Array.from({ length: 10 }, (_, index) => id('ca', index));
    const requests: readonly (readonly [string, string, object])[] = [
      ['PUT', `/edges/https/${id('edghts')}/mutual_tls`, { certificate_authority_ids: ten }],
      ['PUT', `/edges/https/${id('edghts')}/mutual_tls`, { enabled: false }],
      ['PATCH', `/backends/weighted/${id('bkdwd')}`, { backends: { [id('bkdsc')]: 10_000, [id('bkdsc', 1)]: 0 } }],
      ['PATCH', `/ip_policies/${id('ipp')}`, { description: '😀'.repeat(255), metadata: 'ä'.repeat(2048) }],
      [
        'PATCH',
        `/edges/https/${id('edghts')}`,
        { hostports: ['*.wild.localhost:443', 'furnished.localhost:443', 'furnished.localhost:7443'] },
      ],
      ['PATCH', `/ip_policy_rules/${id('ipr')}`, { cidr: '0.0.0.0/0' }],
      ['PATCH', `/ip_policy_rules/${id('ipr')}`, { cidr: '2001:db8::/128' }],
      ...[
        'http://localhost:8080',
        'http://[::1]/realms/x',
        'http://127.0.0.1',
        'https://accounts.example.com/a%20b/',
      ].map((issuer) => ['PUT', `/edges/https/${id('edghts')}/routes/${id('edghtsrt')}/oidc`, { issuer }] as const),
    ];
    for (const [method, path, body] of requests) {
      const answer = await world().api(method, path, body);
      assert.equal(answer.status, 200, `${path} ${JSON.stringify(body)}: ${answer.text}`);
      const { certificate_authority_ids: ids, ...same } = body as Record<string, unknown>;
      for (const [name, value] of Object.entries(same)) assert.deepEqual(answer.body[name], value, name);
      if (ids !== undefined)
        assert.deepEqual(
          answer.body.certificate_authorities.map((ref: { id: string }) => ref.id),
          ids,
        );
    }
  });
});

/** A second weighted backend that refers to the failover, and eleven authorities. */
async function furnishMore(world: TestWorld): Promise<FurnishedWorld> {
  const furnished = await FurnishedWorld.furnish(world);
  await furnished.create('/backends/weighted', { backends: { [furnished.id('bkdfo')]: 1 } });
  for (let count = 1; count < 11; count += 1)
    await furnished.create('/certificate_authorities', { ca_pem: furnished.authority.certificatePem });
  return furnished;
}

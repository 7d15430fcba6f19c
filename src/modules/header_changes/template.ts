import { cookieValues } from '../../kit/http/cookie-header.ts';
import { firstValue } from '../../kit/http/header-values.ts';
import type { JsonValue } from '../../kit/json.ts';
import type { ClientCertificate, TrafficRequest } from '../contract/decides.ts';
import type { PreparePorts } from '../contract/prepare.ts';
import type { TrafficResponseHead } from '../contract/prepared-module.ts';
import { MAX_SENT_LENGTH } from './header-config.ts';

/** A value with its variables, parsed once. */
export interface Template {
  /** The value, if it has no variable. */
  readonly text: string | null;
  /** Whether it says something that a visitor must not be able to say. */
  readonly isVouched: boolean;
  /** Whether it depends on the path of the request. */
  readonly readsPath: boolean;
  readonly read: ReadValue;
}

// The parts of a name start with different characters, so that this takes linear time.
const VARIABLE = /\$\{ *\.?([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_-]+|\['[^']*'\])*) *\}/y;
const STEP = /\.?([A-Za-z0-9_-]+)|\['([^']*)'\]/g;

/** `${name}` is a variable, and `$${` the text `${`. */
export function parseTemplate(value: string): Template | { readonly problem: string } {
  const parts: (string | Variable)[] = [];
  let at = 0;
  while (at < value.length) {
    const start = value.indexOf('$', at);
    if (start === -1) break;
    parts.push(value.slice(at, start));
    if (value.startsWith('$${', start)) {
      parts.push('${');
      at = start + 3;
    } else if (value.startsWith('${', start)) {
      VARIABLE.lastIndex = start;
      const [whole, name] = VARIABLE.exec(value) ?? [];
      if (whole === undefined || name === undefined)
        return { problem: `has "\${" without a name and "}" after it: write "$\${" for the characters themselves` };
      const variable = variableOf(stepsOf(name));
      if (variable === null) return { problem: `has the variable "${name.slice(0, 80)}", which does not exist` };
      parts.push(variable);
      at = start + whole.length;
    } else {
      parts.push('$');
      at = start + 1;
    }
  }
  parts.push(value.slice(at));
  return templateOf(parts);
}

function templateOf(parts: readonly (string | Variable)[]): Template {
  const variables = parts.filter((part) => typeof part !== 'string');
  const text = variables.length === 0 ? (parts as readonly string[]).join('') : null;
  return {
    text,
    isVouched: variables.some(({ isVouched }) => isVouched),
    readsPath: variables.some(({ readsPath }) => readsPath),
    read: (source) => {
      if (text !== null) return text;
      let value = '';
      for (const part of parts) {
        const read = typeof part === 'string' ? part : part.read(source);
        // A visitor may send long headers, and a value may name them often.
        if (read === null || value.length + read.length > MAX_SENT_LENGTH) return null;
        value += read;
      }
      return value;
    },
  };
}

function stepsOf(name: string): readonly string[] {
  return Array.from(name.matchAll(STEP), ([, plain, quoted]) => plain ?? quoted ?? '');
}

/** What the value of a header may depend on. */
export interface ValueSource {
  readonly request: TrafficRequest;
  /** The lines of a header of the request, without what only the edge may know. */
  readonly headerLines: (name: string) => readonly string[];
  /** Null on the way to the upstream. */
  readonly response: TrafficResponseHead | null;
  readonly place: PreparePorts['place'];
}

/** Null: it cannot be said in a header. */
type ReadValue = (source: ValueSource) => string | null;

interface Variable {
  /** Whether the server says it about the visitor. Otherwise the visitor or the upstream has chosen it. */
  readonly isVouched: boolean;
  readonly readsPath: boolean;
  readonly read: ReadValue;
}

const EMPTY: ReadValue = () => '';

/** By name. Those that nothing here can fill are empty: clients of the retired service send them. */
const VOUCHED: Readonly<Record<string, ReadValue>> = {
  'conn.client_ip': ({ request }) => request.clientAddress,
  'conn.client_port': EMPTY,
  'conn.server_ip': EMPTY,
  'conn.server_port': EMPTY,
  'conn.bytes_in': EMPTY,
  'conn.bytes_out': EMPTY,
  'conn.ts.start': EMPTY,
  'conn.tls.sni': ({ request }) => (request.scheme === 'https' ? request.host : ''),
  'conn.tls.version': EMPTY,
  'conn.tls.client.subject.common_name': ofCertificate(({ subjectCommonName }) => subjectCommonName),
  'conn.tls.client.issuer.common_name': ofCertificate(({ issuerCommonName }) => issuerCommonName),
  'conn.tls.client.serial_number': ofCertificate(({ serialNumber }) => serialNumber),
  'conn.tls.client.san': ofCertificate(({ subjectAltNames }) => subjectAltNames),
  'conn.tls.client.validity.not_before': ofCertificate(({ notBeforeMs }) => timeText(notBeforeMs)),
  'conn.tls.client.validity.not_after': ofCertificate(({ notAfterMs }) => timeText(notAfterMs)),
  'endpoint.addr': ({ request }) => `${request.host}:${portOf(request)}`,
  'endpoint.host': ({ request }) => request.host,
  'endpoint.id': ({ place }) => place.edgeId,
  'endpoint.port': ({ request }) => portOf(request),
  'endpoint.protocol': ({ request }) => request.scheme,
  'endpoint.url': ({ request }) => `${request.scheme}://${request.host}`,
  'backend.id': EMPTY,
  'backend.dial_duration': EMPTY,
  'backend.connection_reused': EMPTY,
  'basic_auth.decision': EMPTY,
  'basic_auth.username': ({ request: { permit } }) =>
    permit?.module === 'basic_auth' ? textOf(permit.identity.claims['username']) : '',
  'circuit_breaker.decision': EMPTY,
  'compression.algorithm': EMPTY,
  'compression.bytes_saved': EMPTY,
  'ip_policy.decision': EMPTY,
  'ip_policy.matching_rule': EMPTY,
  'oauth.app_client_id': EMPTY,
  'oauth.decision': ({ request: { permit } }) => (permit?.identity.kind === 'user' ? 'allow' : ''),
  'oauth.user.id': ofUser(({ id }) => id),
  'oauth.user.name': ofUser(({ name }) => name),
  'oauth.user.email': ofUser(({ email }) => email),
  'webhook_validation.decision': EMPTY,
  'ngrok.client_ip': ({ request }) => request.clientAddress,
  'ngrok.request_id': ({ request }) => request.id,
  'person.id': ({ request: { permit } }) => permit?.identity.id ?? '',
  'person.kind': ({ request: { permit } }) => permit?.identity.kind ?? '',
  'person.email': ({ request: { permit } }) => permit?.identity.email ?? '',
  'person.name': ({ request: { permit } }) => permit?.identity.name ?? '',
  'certificate.subject_cn': ofCertificate(({ subjectCommonName }) => subjectCommonName),
  'certificate.issuer_cn': ofCertificate(({ issuerCommonName }) => issuerCommonName),
  'certificate.serial': ofCertificate(({ serialNumber }) => serialNumber),
  'certificate.fingerprint_sha256': ofCertificate(({ fingerprint256 }) => fingerprint256),
  'certificate.subject_alt_names': ofCertificate(({ subjectAltNames }) => subjectAltNames),
  'route.id': ({ place }) => place.routeId ?? '',
  'route.edge_id': ({ place }) => place.edgeId,
};

const CHOSEN: Readonly<Record<string, ReadValue>> = {
  'req.method': ({ request }) => request.method,
  'req.host': ({ request }) => request.authority,
  'req.version': EMPTY,
  'req.content_type': ofRequest('content-type'),
  'req.content_length': EMPTY,
  'req.user_agent': ofRequest('user-agent'),
  'req.ts.start': ({ request }) => timeText(request.nowMs),
  'req.ts.body_received': EMPTY,
  'req.url': fullUrl,
  'req.url.raw': fullUrl,
  'req.url.authority': ({ request }) => request.authority,
  'req.url.host': ({ request }) => request.host,
  'req.url.port': ({ request }) => portOf(request),
  'req.url.scheme': ({ request }) => request.scheme,
  'req.url.path': ({ request }) => request.path,
  'req.url.raw_path': ({ request }) => request.path,
  'req.url.query': ({ request: { target } }) => (target.includes('?') ? target.slice(target.indexOf('?') + 1) : ''),
  'req.url.uri': ({ request }) => request.target,
  'req.url.username': EMPTY,
  'req.url.user_password': EMPTY,
  'res.status_code': ({ response }) => (response === null ? '' : String(response.status)),
  'res.content_type': ofResponse('content-type'),
  'res.content_encoding': ofResponse('content-encoding'),
  'res.content_length': ({ response }) => String(response?.bodyBytes ?? ''),
  'res.location': ofResponse('location'),
};

/** Variables of the URL, unless they are listed: the others contain the path. */
const IN_URL = /^req\.url(?:\.|$)/;
const WITHOUT_PATH: ReadonlySet<string> = new Set(
  ['authority', 'host', 'port', 'scheme', 'query', 'username', 'user_password'].map((name) => `req.url.${name}`),
);

/** Names that one more step follows: the name of a header, a cookie or a claim. */
const KEYED: Readonly<Record<string, (key: string) => Variable>> = {
  'req.headers': (key) => ({ isVouched: false, readsPath: false, read: ofRequest(key.toLowerCase()) }),
  'req.cookies': (key) => ({
    isVouched: false,
    readsPath: false,
    read: ({ headerLines }) => cookieValues(headerLines('cookie'), key)[0] ?? '',
  }),
  'res.headers': (key) => ({ isVouched: false, readsPath: false, read: ofResponse(key.toLowerCase()) }),
  claims: (key) => ({
    isVouched: true,
    readsPath: false,
    read: unchanged(({ request: { permit } }) => {
      const claims = permit?.identity.claims ?? {};
      return Object.hasOwn(claims, key) ? textOf(claims[key]) : '';
    }),
  }),
};

/** Whole families of names that nothing here can fill. */
const UNFILLED =
  /^(?:conn\.geo|conn\.tls\.(?:cipher|client|server)|req\.(?:headers|cookies|trailers|url\.query_params)|res\.(?:headers|cookies|trailers))(?:$|[._])/;

/** Null: there is none of this name. */
function variableOf(steps: readonly string[]): Variable | null {
  const name = steps.join('.');
  const [vouched, chosen] = [own(VOUCHED, name), own(CHOSEN, name)];
  if (vouched !== undefined) return { isVouched: true, readsPath: false, read: unchanged(vouched) };
  if (chosen !== undefined)
    return { isVouched: false, readsPath: IN_URL.test(name) && !WITHOUT_PATH.has(name), read: chosen };
  const keyed = own(KEYED, steps.slice(0, -1).join('.'));
  if (keyed !== undefined) return keyed(steps.at(-1) ?? '');
  return UNFILLED.test(name) ? { isVouched: name.startsWith('conn.'), readsPath: false, read: EMPTY } : null;
}

function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Readers trim values: somebody who may choose a name could choose " admin". */
function unchanged(read: ReadValue): ReadValue {
  return (source) => {
    const text = read(source);
    return text === text?.trim() ? text : null;
  };
}

function ofCertificate(read: (certificate: ClientCertificate) => string): ReadValue {
  return ({ request: { clientCertificate } }) => (clientCertificate === null ? '' : read(clientCertificate));
}

function ofUser(
  read: (identity: { readonly id: string; readonly name: string; readonly email: string }) => string,
): ReadValue {
  return ({ request: { permit } }) => (permit?.identity.kind === 'user' ? read(permit.identity) : '');
}

function ofRequest(name: string): ReadValue {
  return ({ headerLines }) => headerLines(name)[0] ?? '';
}

function ofResponse(name: string): ReadValue {
  return ({ response }) => (response === null ? '' : (firstValue(response.headers, name) ?? ''));
}

function fullUrl({ request }: ValueSource): string {
  return `${request.scheme}://${request.authority}${request.target}`;
}

function portOf({ authority, scheme }: TrafficRequest): string {
  return /:(\d+)$/.exec(authority)?.[1] ?? (scheme === 'https' ? '443' : '80');
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** A list of texts is joined by commas, unless an item would be read as two; what has no plain form is empty. */
function textOf(value: JsonValue | undefined): string | null {
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => textOf(item));
    return items.every((item) => item === item?.trim() && item?.includes(',') !== true) ? items.join(',') : null;
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

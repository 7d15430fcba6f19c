import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import { type ImportReport, isUnset } from '../import-report.ts';
import type { SiteTarget } from './caddy-sites.ts';

const NO_SUCH_FIELD = 'Postern has no such field';

/** Null after the reason was reported. */
export function proxyTarget(handler: JsonObject, place: readonly string[], report: ImportReport): SiteTarget | null {
  const { handler: _, upstreams, transport, load_balancing: balancing, headers: _headers, ...rest } = handler;
  const dials = Array.isArray(upstreams) ? (upstreams as readonly JsonValue[]).filter(isJsonObject) : [];
  const addresses = dials.map(({ dial }) => (typeof dial === 'string' ? dial.replace(/^tcp\//, '') : ''));
  if (addresses.length === 0 || addresses.some((each) => !/^(\[[0-9a-f:]+\]|[\w.-]+):\d{1,5}$/i.test(each))) {
    report.drop([...place, 'upstreams'], 'written without a backend (503): every upstream must be host:port');
    return null;
  }
  for (const { dial: _dial, ...upstream } of dials) report.dropFields([...place, 'upstreams'], upstream, NO_SUCH_FIELD);
  for (const [name, value] of Object.entries(rest))
    report.dropFields([...place, name], value as JsonValue, NO_SUCH_FIELD);
  const { protocol, tls, ...otherTransport } = isJsonObject(transport) ? transport : { protocol: 'http' };
  if (protocol !== 'http') {
    report.drop([...place, 'transport', 'protocol'], 'written without a backend (503): Postern forwards HTTP only');
    return null;
  }
  report.dropFields([...place, 'transport'], otherTransport, NO_SUCH_FIELD);
  report.dropFields(
    [...place, 'transport', 'tls'],
    tls,
    'Postern verifies the certificate of the upstream with the CAs of the server',
  );
  const { selection_policy: selection, ...otherBalancing } = isJsonObject(balancing) ? balancing : {};
  report.dropFields([...place, 'load_balancing'], otherBalancing, NO_SUCH_FIELD);
  const policy = isJsonObject(selection) ? selection['policy'] : undefined;
  if (policy !== undefined && !['first', 'random', 'round_robin'].includes(String(policy as string))) {
    report.drop([...place, 'load_balancing', 'selection_policy'], 'requests are distributed at random instead');
  }
  return {
    kind: 'addresses',
    addresses: [...new Set(addresses)],
    hasTls: tls !== undefined,
    isOrdered: policy === 'first',
  };
}

/** Whether a handler turns requests away. */
export function isRefusal(name: string, { status_code: status, abort }: JsonObject): boolean {
  if (name === 'error' || name === 'abort') return true;
  return name === 'static_response' && ((!isUnset(abort) && abort !== false) || Number(status ?? 200) >= 400);
}

/** Null after the reason was reported. */
export function responseTarget(handler: JsonObject, place: readonly string[], report: ImportReport): SiteTarget | null {
  const { handler: _, status_code: status, body, headers, abort, ...rest } = handler;
  if (!isUnset(abort) && abort !== false) {
    report.drop(place, 'written without a backend (503): Postern does not abort connections');
    return null;
  }
  if (JSON.stringify(handler).includes('{http.')) {
    report.drop(place, 'written without a backend (503): a fixed response has no placeholders');
    return null;
  }
  for (const [name, value] of Object.entries(rest))
    report.dropFields([...place, name], value as JsonValue, NO_SUCH_FIELD);
  const fields = Object.entries(isJsonObject(headers) ? headers : {}).map(([name, value]) => {
    return [name, Array.isArray(value) ? value.join(', ') : value] as const;
  });
  const response: JsonObject = {
    status_code: Number(status ?? 200),
    body: typeof body === 'string' ? body : '',
    ...(isUnset(headers) ? {} : { headers: Object.fromEntries(fields) as JsonObject }),
  };
  return { kind: 'response', response };
}

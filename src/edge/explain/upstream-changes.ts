import type { HeaderList } from '../../lib/http/header-values.ts';
import type { UpstreamRequest } from '../../upstream/upstream.ts';
import type { RequestHead } from '../http/request-head.ts';
import type { UpstreamChanges } from './explanation.ts';

const ASSERTION = 'postern-auth-assertion';
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'cookie']);
const JWT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/;

/** How the forwarded request differs from what the client sent. */
export function upstreamChanges(
  { headers: sent, authority: sentHost, path }: Pick<RequestHead, 'headers' | 'authority' | 'path'>,
  { headers, standing = [], authority, target }: UpstreamRequest,
): UpstreamChanges {
  const before = linesByName(sent);
  const after = linesByName([...headers, ...standing.flat()]);
  const added: Record<string, string> = authority === sentHost ? {} : { host: authority };
  for (const [name, lines] of after) {
    const fresh = lines.filter((line) => before.get(name)?.includes(line) !== true);
    if (fresh.length > 0) added[name] = fresh.map((line) => shown(name, line)).join(', ');
  }
  const removed = [...before]
    .filter(([name, lines]) => lines.some((line) => after.get(name)?.includes(line) !== true))
    .map(([name]) => name);
  const headersRemoved = removed.filter((name) => name !== 'host').sort();
  return { headersAdded: added, headersRemoved, ...(target !== path.target && { target }) };
}

/** An assertion appears as its claims, and credentials of a module not at all: nothing leaves that an upstream could accept. */
function shown(name: string, value: string): string {
  if (CREDENTIALS.has(name)) return '(hidden)';
  // Other headers may look like one: a host name has dots, too.
  const payload = name === ASSERTION ? JWT.exec(value)?.[2] : undefined;
  if (payload === undefined) return value;
  return `(unsigned) ${Buffer.from(payload, 'base64url').toString('utf8')}`;
}

function linesByName(headers: HeaderList): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, string[]>();
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] as string).toLowerCase();
    byName.set(name, [...(byName.get(name) ?? []), headers[at + 1] as string]);
  }
  return byName;
}

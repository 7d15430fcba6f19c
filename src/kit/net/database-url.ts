/** What a PostgreSQL URL says about the servers to connect to. */
export interface DatabaseServers {
  /** One URL per server, in the given order. */
  readonly urls: readonly string[];
  /** Only a server that accepts writes may be used, as with libpq's `target_session_attrs=read-write`. */
  readonly mustBeWritable: boolean;
}

const FORM = /^(postgres(?:ql)?:\/\/)([^/?#]*)(.*)$/is;
/** libpq's names of sessions that can write, and its default. Postern writes, so the others make no sense. */
const WRITABLE: ReadonlySet<string> = new Set(['read-write', 'primary']);

/**
 * Several servers are separated by commas, as in libpq: `postgres://user@db1:5432,db2:5432/postern`. Null: malformed.
 */
export function databaseServers(text: string): DatabaseServers | null {
  const parts = partsOf(text);
  if (parts === null) return null;
  const { scheme, user, hosts, rest } = parts;
  const urls = hosts.length === 1 ? [text] : hosts.map((host) => `${scheme}${user}${host}${rest}`);
  if (hosts.length > 1 && hosts.includes('')) return null;
  if (!urls.every(isServerUrl)) return null;
  const wanted = new URL(urls[0] as string).searchParams.get('target_session_attrs');
  if (wanted !== null && wanted !== 'any' && !WRITABLE.has(wanted)) return null;
  return { urls, mustBeWritable: urls.length > 1 || WRITABLE.has(wanted ?? '') };
}

/** Replaces the server of `url` by all servers of `text`: for showing a URL whose password was masked. */
export function withServersOf(url: string, text: string): string {
  const [shown, given] = [partsOf(url), partsOf(text)];
  if (shown === null || given === null) return url;
  return `${shown.scheme}${shown.user}${given.hosts.join(',')}${shown.rest}`;
}

function partsOf(text: string) {
  const [, scheme, authority, rest] = FORM.exec(text) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return null;
  const at = authority.lastIndexOf('@') + 1;
  return { scheme, user: authority.slice(0, at), hosts: authority.slice(at).split(','), rest };
}

/** An `@` after the host, or a fragment, indicates a password with a bare / ? or # in it. */
function isServerUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { pathname, search, hash } = new URL(url);
  return hash === '' && !`${pathname}${search}`.includes('@');
}

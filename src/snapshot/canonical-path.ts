/**
 * One parse of a request's path, shared by the matcher and the forwarder: the matcher has seen everything that is
 * forwarded. Six advisories of similar programs come from two components that parse one path differently.
 */
export interface CanonicalPath {
  /** As received and forwarded, including the query. */
  readonly target: string;
  /** As received, without the query. */
  readonly path: string;
  /** Percent-decoded except for `%2F`: routes are matched against this. */
  readonly key: string;
  /** Other interpretations by upstreams: `%2F` as a slash, `;` parameters dropped. Each must lead to the same route. */
  readonly otherKeys: readonly string[];
}

export type PathReading =
  | { readonly ok: true; readonly path: CanonicalPath }
  | { readonly ok: false; readonly message: string };

const PLAIN = /^\/[A-Za-z0-9\-_~/]*$/;

export function readPath(target: string): PathReading {
  const end = target.indexOf('?');
  const path = end === -1 ? target : target.slice(0, end);
  // The common case: no dots, no escapes, only "//" to check.
  if (PLAIN.test(path) && !path.includes('//') && isVisibleAscii(target)) {
    return { ok: true, path: { target, path, key: path, otherKeys: [] } };
  }
  const message = problemOf(target, path);
  if (message !== null) return { ok: false, message };
  const key = matchKey(path);
  return { ok: true, path: { target, path, key, otherKeys: otherReadings(key) } };
}

/** The key that finds a route's `match`. */
export function matchKey(path: string): string {
  return path.includes('%') ? path.replaceAll(/%([0-9a-f]{2})/gi, decodeByte) : path;
}

function problemOf(target: string, path: string): string | null {
  if (!path.startsWith('/')) return 'the path does not start with "/"';
  if (!isVisibleAscii(target)) return 'the path has characters that must be percent-encoded';
  if (target.includes('#')) return 'the path has a fragment';
  if (target.includes('\\') || /%5c/i.test(path)) return 'the path has a backslash';
  if (/%(?![0-9a-f]{2})/i.test(path)) return 'the path has a "%" that is not an escape';
  // Some upstreams end a name at NUL, and others drop tabs and line ends: they read "..%09" as "..".
  if (/%(?:[01][0-9a-f]|7f)/i.test(path)) return 'the path has control characters';
  if (path.includes('//')) return 'the path has an empty segment';
  const decoded = path.replaceAll(/%2f/gi, '/').replaceAll(/%2e/gi, '.').replaceAll(/%3b/gi, ';');
  if (decoded.includes('//')) return 'the path has an empty segment';
  // Some upstreams drop ";…" from a segment: they read "..;" as "..".
  const hasDots = decoded.split('/').some((segment) => /^\.{1,2}(;.*)?$/.test(segment));
  if (hasDots) return 'the path has "." or ".." segments';
  return decoded.includes('/;') ? 'the path has a segment that consists only of parameters' : null;
}

function otherReadings(key: string): readonly string[] {
  const others = new Set<string>();
  const slashes = key.replaceAll('%2F', '/');
  others.add(slashes);
  others.add(withoutParameters(key));
  others.add(withoutParameters(slashes));
  others.delete(key);
  return [...others];
}

function withoutParameters(key: string): string {
  return key.includes(';') ? key.replaceAll(/;[^/]*/g, '') : key;
}

/** One byte per character: two spellings of one path give one key, in any encoding. */
function decodeByte(_escape: string, hex: string): string {
  return hex.toLowerCase() === '2f' ? '%2F' : String.fromCharCode(Number.parseInt(hex, 16));
}

function isVisibleAscii(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

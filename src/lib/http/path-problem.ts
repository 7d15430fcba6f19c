/** Why a path cannot be forwarded, as the end of "The request was rejected: …"; null: it can. `target` is the path with its query. */
export function pathProblem(target: string, path: string): string | null {
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

export function isVisibleAscii(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * The problem with a URI to which codes or logout tokens are sent, or null. Readers of odd spellings disagree about the
 * host, so only the canonical spelling is accepted.
 */
export function clientUriProblem(uri: string): string | null {
  const shown = JSON.stringify(uri.slice(0, 200));
  if (!URL.canParse(uri)) return `has ${shown}, which is not an absolute URL`;
  const url = new URL(uri);
  const isLoopback = url.protocol === 'http:' && LOOPBACK.has(url.hostname);
  if (url.protocol !== 'https:' && !isLoopback) {
    return `has ${shown}: use https, or http on 127.0.0.1, [::1] or localhost`;
  }
  if (url.username !== '' || url.password !== '') return `has ${shown}, which contains a user or password`;
  if (uri.includes('#')) return `has ${shown}, which contains a fragment`;
  if (uri.includes('*')) return `has ${shown}: wildcards are not supported, because URIs are compared letter by letter`;
  return url.href === uri ? null : `has ${shown}: write it as ${JSON.stringify(url.href)}`;
}

/** What is wrong with an issuer's URL, or null. OpenID Connect Discovery 1.0 §3: https, no query, no fragment. */
export function issuerProblem(issuer: string, httpHosts: readonly string[]): string | null {
  if (/[\s\\\p{Cc}]/u.test(issuer)) return 'must not contain spaces, backslashes or control characters';
  if (!URL.canParse(issuer)) return 'must be an absolute URL such as "https://accounts.example.com"';
  const url = new URL(issuer);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an https URL';
  // URL drops an empty "?" or "#", which would make the issuer differ from the one in the provider's tokens.
  if (issuer.includes('?') || issuer.includes('#')) return 'must have no query and no fragment';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !httpHosts.includes(url.hostname)) {
    return `must be https: plain http is accepted for loopback only, or for hosts listed in POSTERN_OIDC_HTTP_ISSUERS (add "${url.hostname}" there if you mean it)`;
  }
  return null;
}

/** Hosts (as in URL.hostname) that need no network to be reached. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  );
}

/**
 * The secret is in the query: the access log and traffic events record paths and never queries. A fragment would stay in
 * the browser, but then the server could not tell a visitor that a link is spent.
 */
export function guestLinkUrl({ host, port }: { readonly host: string; readonly port: string }, secret: string): string {
  return `https://${host}${port === '443' ? '' : `:${port}`}/.postern/guest?link=${secret}`;
}

/**
 * The MAC proves that this server issued the link after its record is gone: so a deleted link is answered as revoked,
 * and a guessed one costs no lookup.
 */
export function guestLinkSecret(token: string, mac: (purpose: string, data: string) => string): string {
  return `${token}.${mac('guest-link', token).slice(0, 32)}`;
}

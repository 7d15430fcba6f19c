import { linkSecrets } from '../kit/text/secrets.ts';

/** Where guests open and redeem links. */
export const GUEST_PATH = '/.postern/guest';

export const guestSecrets = linkSecrets({ prefix: 'postern_gl_', purpose: 'guest-link' });

/**
 * The secret is in the query: the access log and traffic events record paths and never queries. A fragment would stay
 * in the browser, but then the server could not tell a visitor that a link is spent.
 */
export function guestLinkUrl({ host, port }: { readonly host: string; readonly port: string }, secret: string): string {
  return `https://${host}${port === '443' ? '' : `:${port}`}${GUEST_PATH}?link=${secret}`;
}

/** One record per browser that redeemed a link, below the link. The numbers have no gaps. */
export const GUEST_LINK_USE_KIND = 'guest_link_use';

/** The record of a link's first, second … browser, from 1. */
export function guestLinkUseId(linkId: string, browser: number): string {
  return `${linkId}.${browser}`;
}

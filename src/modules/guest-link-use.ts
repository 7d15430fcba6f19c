/** One record per browser that redeemed a link, below the link. The numbers have no gaps. */
export const GUEST_LINK_USE_KIND = 'guest_link_use';

/** The record of a link's first, second … browser, from 1. */
export function guestLinkUseId(linkId: string, browser: number): string {
  return `${linkId}.${browser}`;
}

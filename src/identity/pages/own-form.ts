import { firstValue } from '../../lib/http/header-list.ts';
import { isSameOrigin } from '../../lib/http/is-same-origin.ts';
import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';
import { browserOf } from '../passkeys/browser-cookie.ts';
import type { PagePorts } from './page-ports.ts';
import { refusalAnswer } from './refusal.ts';

export interface OwnForm {
  readonly fields: URLSearchParams;
  /** The browser that sends it: see `browserOf`. */
  readonly browser: string;
}

/** The form of a request that one of our own pages sent. Other sites can make a browser send one, but not from our origin. */
export function ownForm(request: WholeRequest, { party }: Pick<PagePorts, 'party'>): OwnForm | { answer: WholeAnswer } {
  const { headers } = request;
  const origin = { origin: firstValue(headers, 'origin'), site: firstValue(headers, 'sec-fetch-site') };
  if (!isSameOrigin(origin, party.origin)) {
    const message =
      'The request did not come from a page of this site, so nothing was changed. Open the page again in a current browser, and use the button there.';
    return {
      answer: refusalAnswer(request, {
        code: 'ERR_POSTERN_IDENTITY_CROSS_SITE',
        title: 'Open the page again',
        message,
      }),
    };
  }
  const browser = browserOf(request);
  if (browser === null) {
    const message =
      'The browser does not send the cookies of this site, and logging in requires them. Allow cookies for this site, then open the page again.';
    return {
      answer: refusalAnswer(request, { code: 'ERR_POSTERN_IDENTITY_COOKIES', title: 'Cookies are required', message }),
    };
  }
  return { fields: new URLSearchParams(request.body.toString()), browser };
}

import type { Refusal } from '../../contract/decides.ts';
import type { OwnAnswer } from '../../contract/serves-paths.ts';

const ASK = 'Ask the person who sent it to you for a new one.';

/** The address has the secret of the link: no request from these pages may name it. */
const NO_REFERRER = ['referrer-policy', 'no-referrer'] as const;

type LinkProblem = 'spent' | 'expired' | 'revoked' | 'unknown';

const PROBLEMS: Readonly<Record<LinkProblem, Pick<Refusal, 'code' | 'title' | 'message'>>> = {
  spent: {
    code: 'ERR_POSTERN_GUEST_LINK_SPENT',
    title: 'This link was already used',
    message:
      'It was opened in as many browsers as it allows. If you opened it before, return to that browser. Otherwise ask the person who sent it to you for a new one.',
  },
  expired: {
    code: 'ERR_POSTERN_GUEST_LINK_EXPIRED',
    title: 'This link has expired',
    message: `The time for which it was made is over. ${ASK}`,
  },
  revoked: {
    code: 'ERR_POSTERN_GUEST_LINK_REVOKED',
    title: 'This link was revoked',
    message: `The operator of this site has withdrawn it. ${ASK}`,
  },
  unknown: {
    code: 'ERR_POSTERN_GUEST_LINK_UNKNOWN',
    title: 'This link does not work',
    message: `Check that its address is complete. ${ASK}`,
  },
};

export function linkRefusal(problem: LinkProblem, cookies: readonly string[] = []): OwnAnswer {
  const headers = [...NO_REFERRER, ...cookies.flatMap((cookie) => ['set-cookie', cookie])];
  return { refusal: { status: 410, reason: `guest_link_${problem}`, headers, ...PROBLEMS[problem] } };
}

export const CROSS_SITE: OwnAnswer = {
  refusal: {
    status: 403,
    code: 'ERR_POSTERN_GUEST_LINK_CROSS_SITE',
    reason: 'guest_link_cross_site',
    title: 'Open the link again',
    message:
      'The request did not come from the page of a guest link on this site, so nothing was changed. Open the link again in a current browser, and use the button there.',
    headers: NO_REFERRER,
  },
};

export function tooManyGuesses(retryAfterSeconds: number): OwnAnswer {
  return {
    refusal: {
      status: 429,
      code: 'ERR_POSTERN_LOGIN_RATE_LIMITED',
      reason: 'guest_link_guesses',
      title: 'Too many attempts',
      message: `Too many links that do not work were opened from your address or network. Try again in ${retryAfterSeconds} s.`,
      headers: ['retry-after', String(retryAfterSeconds), ...NO_REFERRER],
    },
  };
}

export const NO_SUCH_METHOD: OwnAnswer = {
  refusal: {
    status: 404,
    code: 'ERR_POSTERN_NO_OWN_PATH',
    reason: 'no_own_path',
    message: 'Guest links are opened with GET and redeemed with POST.',
  },
};

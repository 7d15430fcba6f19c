import { firstValue } from '../../../kit/http/header-values.ts';
import { isSameOrigin, type WholeAnswer, type WholeRequest } from '../../../kit/http/whole-request.ts';
import type { IdentityPeople, IdentitySessions, LoginProof } from '../contracts.ts';
import { browserOf, knownBrowserCookie } from '../passkeys/browser-cookie.ts';
import type { Challenges, RelyingParty } from '../passkeys/ceremony.ts';
import { refusalAnswer } from './page-answer.ts';

/** What the pages of the identity host use. */
export interface PagePorts {
  readonly party: RelyingParty;
  readonly clock: { nowMs(): number };
  readonly people: IdentityPeople;
  readonly sessions: IdentitySessions;
  readonly challenges: Challenges;
  /** Failures per address and network: passkeys that are refused, and invitations and codes that are guessed. */
  readonly attempts: AttemptLimits;
  /** Where people log in to the console with their account; null: they do so at another provider. */
  readonly consoleUrl: string | null;
  /** Whether the login page offers codes by e-mail. */
  readonly offersCodes: boolean;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
  randomText(bytes: number): string;
  /** Whether the store was only away for a while: neither a bug nor a fault of the request. */
  isStoreOutage(error: unknown): boolean;
}

/** How often people at one address or in one network may fail. */
interface AttemptLimits {
  begin(clientAddress: string): Attempt | { readonly retryAfterSeconds: number };
}

/** An attempt counts unless it succeeds. */
export interface Attempt {
  succeeded(): void;
  failed(): void;
}

/** One more attempt from the address of a request, or the refusal. */
export function beginAttempt(
  { attempts }: Pick<PagePorts, 'attempts'>,
  request: WholeRequest,
): Attempt | { readonly answer: WholeAnswer } {
  const started = attempts.begin(request.clientAddress);
  if (!('retryAfterSeconds' in started)) return started;
  const { retryAfterSeconds } = started;
  return {
    answer: refusalAnswer(request, {
      code: 'ERR_POSTERN_IDENTITY_RATE_LIMITED',
      title: 'Too many attempts',
      message: `Too many attempts to log in from your address or network failed. Try again in ${retryAfterSeconds} s.`,
      headers: ['retry-after', String(retryAfterSeconds)],
    }),
  };
}

export interface OwnForm {
  readonly fields: URLSearchParams;
  /** The browser that sends it: see `browserOf`. */
  readonly browser: string;
}

/**
 * The form of a request that one of our own pages sent. Other sites can make a browser send one, but not from our
 * origin.
 */
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

/** After a proof: the browser goes on to the application or to a page of this host. */
export async function logInPerson(ports: PagePorts, request: WholeRequest, proof: LoginProof): Promise<WholeAnswer> {
  const { sessions, people, clock, offersCodes } = ports;
  const answer = await sessions.logIn(request, proof);
  await people.recordLogin(proof.accountId, clock.nowMs());
  if (!offersCodes) return answer;
  const cookie = knownBrowserCookie(ports, request, proof.accountId);
  return { ...answer, headers: [...answer.headers, 'set-cookie', cookie] };
}

const DEVICES: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/CrOS/, 'ChromeOS'],
  [/Windows/, 'Windows'],
  [/Macintosh|Mac OS X/, 'Mac'],
  [/Linux/, 'Linux'],
];

/** A first name for a passkey that was made with this browser, different from those of the person's others. */
export function deviceName({ headers }: WholeRequest, others: readonly { readonly name: string }[]): string {
  const agent = firstValue(headers, 'user-agent') ?? '';
  const device = DEVICES.find(([pattern]) => pattern.test(agent));
  const name = device === undefined ? 'Passkey' : `Passkey made on ${device[1]}`;
  const taken = new Set(others.map((other) => other.name));
  for (let number = 2; number <= others.length + 1; number += 1) {
    if (!taken.has(name)) return name;
    if (!taken.has(`${name} (${number})`)) return `${name} (${number})`;
  }
  return name;
}

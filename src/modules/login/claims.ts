import type { JsonObject } from '../../kit/json.ts';
import { isEmailVerified } from '../../kit/text/email-address.ts';
import type { Identity } from '../contract/decides.ts';

const MAX_TEXT = 320;
/** Few enough to measure each: a response of 1 MB can have 90,000, which took 0.7 s. */
const MAX_CLAIMS = 1000;
/** Names of dropped claims that are remembered, of sensible lengths. Otherwise any claim may have been dropped. */
const MAX_DROPPED = 1000;
const MAX_NAME = 256;

/** A text claim of a sensible length; a truncated e-mail address would be somebody else's. */
export function textClaim(claims: JsonObject, name: string): string {
  const value = claims[name];
  return typeof value === 'string' && value.length <= MAX_TEXT ? value : '';
}

interface BoundedClaims {
  readonly kept: JsonObject;
  readonly dropped: readonly string[];
}

/** As many whole claims as fit, small ones first: a list of a thousand groups drops itself, not the rest. */
export function boundedClaims(claims: JsonObject, maxBytes: number): BoundedClaims {
  const entries = Object.entries(claims);
  const sized = entries
    .slice(0, MAX_CLAIMS)
    .map(([name, value]) => ({ name, value, bytes: Buffer.byteLength(JSON.stringify({ [name]: value })) }))
    .sort((a, b) => a.bytes - b.bytes);
  let bytes = 2;
  const fitting = sized.findIndex((claim) => {
    bytes += claim.bytes;
    return bytes > maxBytes;
  });
  const count = fitting === -1 ? sized.length : fitting;
  const dropped = [...sized.slice(count).map(({ name }) => name), ...entries.slice(MAX_CLAIMS).map(([name]) => name)];
  return {
    // Entries: a claim called `__proto__` stays a claim.
    kept: Object.fromEntries(sized.slice(0, count).map(({ name, value }) => [name, value])),
    dropped: dropped.length > MAX_DROPPED || dropped.some(({ length }) => length > MAX_NAME) ? ['*'] : dropped,
  };
}

/** The address as sent upstream; null when it is withheld. */
interface SentEmail {
  readonly address: string;
  readonly isVerified: boolean;
}

export function sentEmail(
  { email, claims }: { readonly email: string; readonly claims: JsonObject },
  isUnverifiedSent: boolean,
): SentEmail | null {
  const isVerified = isEmailVerified(claims);
  return email !== '' && (isVerified || isUnverifiedSent) ? { address: email, isVerified } : null;
}

/** The sender of a request, as the upstream sees it. */
export interface UpstreamUser {
  readonly kind: Identity['kind'];
  /** Id of the user, the service account or the guest link; the `sub` of a workload's token. */
  readonly id: string;
  readonly name: string;
  readonly email: SentEmail | null;
  /** Without `email`. */
  readonly claims: JsonObject;
  /** Where the request was sent: `https://host[:port]`, and the host alone. */
  readonly origin: string;
  readonly host: string;
  /** Id of the session or token. */
  readonly sessionId: string;
  /** The issuer, and the user's id there. */
  readonly provider: string;
  readonly subject: string;
}

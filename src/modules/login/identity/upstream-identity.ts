import type { TrafficRequest } from '../../prepared-module.ts';
import type { Grant } from '../sessions/grant.ts';
import { type AssertionSigner, isFresh } from './assertion-signer.ts';
import { type SentEmail, sentEmail } from './sent-email.ts';

/** The logged-in user's identity as sent to the upstream. */
export class UpstreamIdentity {
  readonly #signer: AssertionSigner;
  readonly #isUnverifiedEmailSent: (issuer: string) => boolean;

  constructor(signer: AssertionSigner, isUnverifiedEmailSent: (issuer: string) => boolean) {
    this.#signer = signer;
    this.#isUnverifiedEmailSent = isUnverifiedEmailSent;
  }

  headersFor(grant: Grant, request: TrafficRequest): readonly string[] {
    const { identity } = grant;
    if (identity !== null && isFresh(identity.assertion, request.nowMs)) return identity.headers;
    const email = sentEmail(grant.doc, this.#isUnverifiedEmailSent(grant.issuer));
    const assertion = this.#signer.sign(grant, email, request.nowMs);
    const headers = [...identityHeaders(grant, email), 'postern-auth-assertion', assertion.token];
    grant.identity = { headers, assertion };
    return headers;
  }
}

function identityHeaders({ userId, doc }: Grant, email: SentEmail | null): readonly string[] {
  const headers = ['postern-auth-user-id', userId];
  if (email !== null) headers.push('postern-auth-user-email', headerText(email.address));
  if (doc.name !== '') headers.push('postern-auth-user-name', headerText(doc.name));
  const { email: claimed, ...others } = doc.claims;
  // Withheld here too: readers of the claims check no more than readers of the header.
  const claims = { ...others, ...(email !== null && claimed !== undefined && { email: claimed }), sub: doc.subject };
  headers.push('postern-auth-claims', Buffer.from(JSON.stringify(claims)).toString('base64url'));
  return headers;
}

/**
 * A text in header-safe form: everything but printable ASCII, and the percent sign, is percent-encoded as UTF-8, so
 * that no claim ends a line and `decodeURIComponent` always restores the text. So are spaces at the ends: a reader
 * would trim them, and take one user for another.
 */
export function headerText(text: string): string {
  const encoded = text.toWellFormed().replaceAll(/[^\x20-\x24\x26-\x7e]+/gu, encodeURIComponent);
  // By index: `/ +$/` takes quadratic time.
  let start = 0;
  let end = encoded.length;
  while (encoded[start] === ' ') start += 1;
  while (end > start && encoded[end - 1] === ' ') end -= 1;
  return '%20'.repeat(start) + encoded.slice(start, end) + '%20'.repeat(encoded.length - end);
}

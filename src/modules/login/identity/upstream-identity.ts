import { headerText } from '../../../lib/http/header-text.ts';
import type { TrafficRequest } from '../../contract/traffic-request.ts';
import type { Grant } from '../sessions/grant.ts';
import { type Assertion, type AssertionSigner, isFresh } from './assertion-signer.ts';
import { boundedClaims } from './claims.ts';
import { sentEmail } from './sent-email.ts';
import type { UpstreamUser } from './upstream-user.ts';

export interface SentIdentity {
  readonly headers: readonly string[];
  readonly assertion: Assertion;
}

/** The identity of a request's sender as sent to the upstream. */
export class UpstreamIdentity {
  readonly #signer: AssertionSigner;
  readonly #isUnverifiedEmailSent: (issuer: string) => boolean;

  constructor(signer: AssertionSigner, isUnverifiedEmailSent: (issuer: string) => boolean) {
    this.#signer = signer;
    this.#isUnverifiedEmailSent = isUnverifiedEmailSent;
  }

  headersFor(grant: Grant, { nowMs }: TrafficRequest): readonly string[] {
    grant.identity = this.current(grant.identity, nowMs, () => this.#userOf(grant));
    return grant.identity.headers;
  }

  /** The given headers while they may still be sent, else new ones. The caller keeps the result with what it is about. */
  current(known: SentIdentity | null, nowMs: number, user: () => UpstreamUser): SentIdentity {
    if (known !== null && isFresh(known.assertion, nowMs)) return known;
    const told = user();
    const assertion = this.#signer.sign(told, nowMs);
    return { headers: [...identityHeaders(told), 'postern-auth-assertion', assertion.token], assertion };
  }

  #userOf({ id, holder, issuer, doc, host }: Grant): UpstreamUser {
    const { email: _, ...claims } = doc.claims;
    return {
      kind: holder.kind,
      id: holder.id,
      name: doc.name,
      // Withheld from the claims too: their readers check no more than readers of the header.
      email: sentEmail(doc, this.#isUnverifiedEmailSent(issuer)),
      claims,
      origin: doc.public_url,
      host,
      sessionId: id,
      provider: issuer,
      subject: doc.subject,
    };
  }
}

function identityHeaders({ kind, id, name, email, claims, subject }: UpstreamUser): readonly string[] {
  const headers = ['postern-auth-kind', kind, 'postern-auth-user-id', headerText(id)];
  if (email !== null) headers.push('postern-auth-user-email', headerText(email.address));
  if (name !== '') headers.push('postern-auth-user-name', headerText(name));
  const told = boundedClaims({ ...claims, ...(email !== null && { email: email.address }) }, MAX_SENT_BYTES).kept;
  const encoded = Buffer.from(JSON.stringify({ ...told, sub: subject })).toString('base64url');
  headers.push('postern-auth-claims', encoded);
  return headers;
}

/** As JSON, in one header. */
const MAX_SENT_BYTES = 3072;

import type { TrafficRequest } from '../../prepared-module.ts';
import type { Grant } from '../sessions/grant.ts';
import { type AssertionSigner, isFresh } from './assertion-signer.ts';

/** What the upstream is told about who is logged in. */
export class UpstreamIdentity {
  readonly #signer: AssertionSigner;

  constructor(signer: AssertionSigner) {
    this.#signer = signer;
  }

  headersFor(grant: Grant, request: TrafficRequest): readonly string[] {
    const { identity } = grant;
    if (identity !== null && isFresh(identity.assertion, request.nowMs)) return identity.headers;
    const assertion = this.#signer.sign(grant, request.nowMs);
    const headers = [...identityHeaders(grant), 'postern-auth-assertion', assertion.token];
    grant.identity = { headers, assertion };
    return headers;
  }
}

function identityHeaders({ userId, doc }: Grant): readonly string[] {
  const headers = ['postern-auth-user-id', userId];
  if (doc.email !== '') headers.push('postern-auth-user-email', headerText(doc.email));
  if (doc.name !== '') headers.push('postern-auth-user-name', headerText(doc.name));
  headers.push(
    'postern-auth-claims',
    Buffer.from(JSON.stringify({ ...doc.claims, sub: doc.subject })).toString('base64url'),
  );
  return headers;
}

/**
 * A text as a header may carry it: everything but printable ASCII, and the percent sign, is percent-encoded as UTF-8, so that
 * no claim ends a line and `decodeURIComponent` gives the text back in every case. Spaces at the ends too: a reader would drop
 * them, and take one user for another.
 */
export function headerText(text: string): string {
  return text.toWellFormed().replaceAll(/[^\x20-\x24\x26-\x7e]+|^ +| +$/gu, encodeURIComponent);
}

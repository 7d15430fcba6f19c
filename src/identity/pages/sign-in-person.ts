import type { IdentityAnswer, IdentityRequest } from '../contracts/identity-request.ts';
import type { SignInProof } from '../contracts/identity-sessions.ts';
import type { PagePorts } from './page-ports.ts';

/** After a proof: the browser goes on to the application or to a page of this host. */
export async function signInPerson(
  { sessions, people, clock }: PagePorts,
  request: IdentityRequest,
  proof: SignInProof,
): Promise<IdentityAnswer> {
  const answer = await sessions.signIn(request, proof);
  await people.recordLogin(proof.accountId, clock.nowMs());
  return answer;
}

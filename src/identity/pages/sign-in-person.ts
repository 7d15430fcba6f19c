import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';
import type { SignInProof } from '../contracts/identity-sessions.ts';
import type { PagePorts } from './page-ports.ts';

/** After a proof: the browser goes on to the application or to a page of this host. */
export async function signInPerson(
  { sessions, people, clock }: PagePorts,
  request: WholeRequest,
  proof: SignInProof,
): Promise<WholeAnswer> {
  const answer = await sessions.signIn(request, proof);
  await people.recordLogin(proof.accountId, clock.nowMs());
  return answer;
}

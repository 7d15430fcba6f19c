import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';
import type { SignInProof } from '../contracts/identity-sessions.ts';
import { knownBrowserCookie } from '../passkeys/browser-cookie.ts';
import type { PagePorts } from './page-ports.ts';

/** After a proof: the browser goes on to the application or to a page of this host. */
export async function signInPerson(ports: PagePorts, request: WholeRequest, proof: SignInProof): Promise<WholeAnswer> {
  const { sessions, people, clock, offersCodes } = ports;
  const answer = await sessions.signIn(request, proof);
  await people.recordLogin(proof.accountId, clock.nowMs());
  if (!offersCodes) return answer;
  const cookie = knownBrowserCookie(ports, request, proof.accountId);
  return { ...answer, headers: [...answer.headers, 'set-cookie', cookie] };
}

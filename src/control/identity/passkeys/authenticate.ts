import {
  generateAuthenticationOptions,
  type PublicKeyCredentialRequestOptionsJSON,
  verifyAuthenticationResponse,
} from '@simplewebauthn/server';
import type { IdentityPeople, Person, PersonalPasskey } from '../contracts.ts';
import {
  type AnsweredChallenge,
  authenticationAnswer,
  CEREMONY_TIMEOUT_MS,
  type CeremonyProblem,
  type ChallengeScope,
  type Challenges,
  clientDataOf,
  isUserVerified,
  type RelyingParty,
} from './ceremony.ts';

export interface AuthenticationPorts {
  readonly party: RelyingParty;
  readonly challenges: Challenges;
  readonly people: Pick<IdentityPeople, 'account' | 'passkeyByCredential' | 'isEnough' | 'recordPasskeyUse'>;
  readonly clock: { nowMs(): number };
}

export type Authentication =
  | { readonly account: Person; readonly passkey: PersonalPasskey }
  | { readonly problem: CeremonyProblem };

/** Asks for any passkey of this host: a list of credentials would tell whether an address has an account. */
export function authenticationOptions(
  { party, challenges }: Pick<AuthenticationPorts, 'party' | 'challenges'>,
  scope: ChallengeScope,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  return generateAuthenticationOptions({
    rpID: party.hostname,
    challenge: challenges.issue(scope),
    userVerification: 'required',
    timeout: CEREMONY_TIMEOUT_MS,
  });
}

/** Checks what a browser answered. Nothing is written before the signature is known to be right. */
export async function authenticate(
  ports: AuthenticationPorts,
  text: string,
  scope: ChallengeScope,
): Promise<Authentication> {
  const { clock, people, challenges } = ports;
  const proof = await verifiedProof(ports, text, scope);
  if ('problem' in proof) return proof;
  const { passkey, challenge, signCount } = proof;
  const account = people.account(passkey.accountId);
  if (account?.isActive !== true) return { problem: 'disabled' };
  if (scope.accountId !== '' && scope.accountId !== account.id) return { problem: 'other_account' };
  if (!people.isEnough(passkey)) return { problem: 'not_enough' };
  if (!isHigher(signCount, passkey.signCount)) return { problem: 'cloned' };
  if (!(await challenges.spend(challenge))) return { problem: 'replayed' };
  // Another node may have seen a higher count, or the passkey removed, in this moment: the store decides.
  if (await people.recordPasskeyUse(passkey, { signCount, atMs: clock.nowMs() })) return { account, passkey };
  return { problem: people.passkeyByCredential(passkey.credentialId) === undefined ? 'unknown' : 'cloned' };
}

interface Proof {
  readonly passkey: PersonalPasskey;
  readonly challenge: AnsweredChallenge;
  readonly signCount: number;
}

async function verifiedProof(
  { party, challenges, people }: AuthenticationPorts,
  text: string,
  scope: ChallengeScope,
): Promise<Proof | { readonly problem: CeremonyProblem }> {
  const answer = authenticationAnswer(text);
  const clientData = answer === null ? null : clientDataOf(answer.response.clientDataJSON);
  if (answer === null || clientData === null) return { problem: 'malformed' };
  // The library accepts answers from frames of other sites when the browser does not name the site.
  if (clientData.origin !== party.origin || clientData.isCrossOrigin) return { problem: 'foreign' };
  const passkey = people.passkeyByCredential(answer.id);
  if (passkey === undefined) return { problem: 'unknown' };
  if (answer.response.userHandle !== Buffer.from(passkey.accountId).toString('base64url'))
    return { problem: 'invalid' };
  let challenge: ReturnType<Challenges['check']> = null;
  const verification = await verifyAuthenticationResponse({
    response: answer,
    expectedChallenge: (encoded) => {
      challenge = challenges.check(encoded, scope);
      return challenge !== null && challenge !== 'expired';
    },
    expectedOrigin: party.origin,
    expectedRPID: party.hostname,
    // Judged by the caller: the library judges it before the signature, when anybody may have sent it.
    credential: { id: passkey.credentialId, publicKey: Buffer.from(passkey.publicKey, 'base64url'), counter: 0 },
    requireUserVerification: true,
    // Messages of the library quote the visitor's data: the problem below says enough.
  }).catch(() => null);
  const found = challenge as ReturnType<Challenges['check']>;
  if (found === null) return { problem: 'foreign' };
  if (found === 'expired') return { problem: 'expired' };
  if (!isUserVerified(Buffer.from(answer.response.authenticatorData, 'base64url'))) return { problem: 'unverified' };
  if (verification?.verified !== true) return { problem: 'invalid' };
  return { passkey, challenge: found, signCount: verification.authenticationInfo.newCounter };
}

/** Authenticators that do not count send 0 (WebAuthn §6.1.1). */
function isHigher(signCount: number, before: number): boolean {
  return (signCount === 0 && before === 0) || signCount > before;
}

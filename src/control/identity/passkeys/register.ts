import {
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type RegistrationResponseJSON,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { decodeAttestationObject, isoCBOR } from '@simplewebauthn/server/helpers';
import type { NewPasskey, Person, PersonalPasskey } from '../contracts.ts';
import {
  CEREMONY_TIMEOUT_MS,
  type CeremonyProblem,
  type ChallengeScope,
  type Challenges,
  clientDataOf,
  isUserVerified,
  PASSKEY_ALGORITHMS,
  type RelyingParty,
  registrationAnswer,
} from './ceremony.ts';

export interface RegistrationPorts {
  readonly party: RelyingParty;
  readonly challenges: Challenges;
}

export type Registration = { readonly passkey: NewPasskey } | { readonly problem: CeremonyProblem };

/** For a passkey that the device stores and protects. A device that has one of the person's passkeys refuses. */
export function registrationOptions(
  { party, challenges }: RegistrationPorts,
  scope: ChallengeScope,
  person: { readonly account: Person; readonly passkeys: readonly PersonalPasskey[] },
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { account, passkeys } = person;
  return generateRegistrationOptions({
    rpName: party.hostname,
    rpID: party.hostname,
    userID: Buffer.from(account.id),
    userName: account.email,
    userDisplayName: account.name === '' ? account.email : account.name,
    challenge: challenges.issue(scope),
    attestationType: 'none',
    excludeCredentials: passkeys.map(({ credentialId }) => ({ id: credentialId })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: PASSKEY_ALGORITHMS,
    timeout: CEREMONY_TIMEOUT_MS,
  });
}

/** Checks what a browser answered, and spends the challenge. The caller stores the passkey. */
export async function register(
  { party, challenges }: RegistrationPorts,
  text: string,
  scope: ChallengeScope,
  name: string,
): Promise<Registration> {
  const answer = registrationAnswer(text);
  const clientData = answer === null ? null : clientDataOf(answer.response.clientDataJSON);
  if (answer === null || clientData === null) return { problem: 'malformed' };
  if (clientData.origin !== party.origin || clientData.isCrossOrigin) return { problem: 'foreign' };
  if (answer.clientExtensionResults.credProps?.rk === false) return { problem: 'not_discoverable' };
  const plain = withoutAttestation(answer);
  if (plain === null) return { problem: 'malformed' };
  let challenge: ReturnType<Challenges['check']> = null;
  const verification = await verifyRegistrationResponse({
    response: plain.answer,
    expectedChallenge: (encoded) => {
      challenge = challenges.check(encoded, scope);
      return challenge !== null && challenge !== 'expired';
    },
    expectedOrigin: party.origin,
    expectedRPID: party.hostname,
    requireUserVerification: true,
    supportedAlgorithmIDs: PASSKEY_ALGORITHMS,
    // Messages of the library quote the visitor's data: the problem below says enough.
  }).catch(() => null);
  const found = challenge as ReturnType<Challenges['check']>;
  if (found === null) return { problem: 'foreign' };
  if (found === 'expired') return { problem: 'expired' };
  if (!isUserVerified(plain.authenticatorData)) return { problem: 'unverified' };
  const info = verification?.registrationInfo;
  if (info === undefined || info.credential.id !== answer.id) return { problem: 'invalid' };
  if (!(await challenges.spend(found))) return { problem: 'replayed' };
  return {
    passkey: {
      name,
      credentialId: info.credential.id,
      publicKey: Buffer.from(info.credential.publicKey).toString('base64url'),
      signCount: info.credential.counter,
      transports: answer.response.transports ?? [],
      isBackedUp: info.credentialBackedUp,
      deviceType: info.credentialDeviceType,
    },
  };
}

/**
 * The answer with an empty attestation statement. We ask for none, and trust no maker of authenticators; the library
 * would parse certificates that a visitor sent, and may fetch the revocation lists that they name.
 */
function withoutAttestation(
  answer: RegistrationResponseJSON,
): { readonly answer: RegistrationResponseJSON; readonly authenticatorData: Uint8Array } | null {
  try {
    const given = decodeAttestationObject(Buffer.from(answer.response.attestationObject, 'base64url'));
    const authenticatorData = given.get('authData');
    if (!(authenticatorData instanceof Uint8Array)) return null;
    const none = new Map<string, string | Uint8Array | Map<string, never>>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', authenticatorData],
    ]);
    const attestationObject = Buffer.from(isoCBOR.encode(none)).toString('base64url');
    return { answer: { ...answer, response: { ...answer.response, attestationObject } }, authenticatorData };
  } catch {
    return null;
  }
}

import { hash } from 'node:crypto';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { type JsonObject, parseUniqueJson } from '../../../kit/json.ts';

/** The identity host as passkeys know it. */
export interface RelyingParty {
  /** `https://` and the setting `identity_host`: the only origin whose answers count. */
  readonly origin: string;
  /** Without the port: passkeys belong to this name and to none below or above it. */
  readonly hostname: string;
}

/** EdDSA, ES256 and RS256: every authenticator has one of them. */
export const PASSKEY_ALGORITHMS = [-8, -7, -257];

/** How long a browser waits for the person. */
export const CEREMONY_TIMEOUT_MS = 5 * 60_000;

/**
 * Why a passkey's answer was refused:
 * - `malformed`: it is not an answer of a browser;
 * - `unknown`: no account has this passkey;
 * - `foreign`: it is for another site, page, browser, account or purpose;
 * - `expired`: it came too late; `replayed`: it was used before;
 * - `unverified`: the device did not verify the person;
 * - `invalid`: the signature or the data is wrong;
 * - `cloned`: the authenticator's counter went back;
 * - `not_discoverable`: the device did not store the passkey;
 * - `disabled`: the account may not log in;
 * - `not_enough`: the inviter of the person could not give what the person may do now;
 * - `other_account`: the passkey belongs to somebody else than the session.
 */
export type CeremonyProblem =
  | 'malformed'
  | 'unknown'
  | 'foreign'
  | 'expired'
  | 'replayed'
  | 'unverified'
  | 'invalid'
  | 'cloned'
  | 'not_discoverable'
  | 'disabled'
  | 'not_enough'
  | 'other_account';

/** WebAuthn §6.1: 32 bytes of hash, then the flags. */
const FLAGS_AT = 32;
const USER_VERIFIED = 0x04;

/** Whether the device says that it verified the person, by a PIN, a finger or a face. */
export function isUserVerified(authenticatorData: Uint8Array): boolean {
  return ((authenticatorData[FLAGS_AT] ?? 0) & USER_VERIFIED) !== 0;
}

const BASE64URL = /^[A-Za-z0-9_-]+$/;
/** WebAuthn §4: a credential id has at most 1023 bytes. */
const MAX_CREDENTIAL_ID = 1364;

/** What a page's script sends after a ceremony, decoded strictly; null: no browser sent this. */
export function authenticationAnswer(text: string): AuthenticationResponseJSON | null {
  const answer = credentialOf(text);
  if (answer === null) return null;
  const { authenticatorData, signature, userHandle } = answer.response;
  if (!isBase64Url(authenticatorData) || !isBase64Url(signature) || !isBase64Url(userHandle)) return null;
  return {
    ...answer.credential,
    response: { clientDataJSON: answer.clientDataJSON, authenticatorData, signature, userHandle },
  };
}

export function registrationAnswer(text: string): RegistrationResponseJSON | null {
  const answer = credentialOf(text);
  if (answer === null) return null;
  const { attestationObject, transports } = answer.response;
  if (!isBase64Url(attestationObject)) return null;
  const known = Array.isArray(transports) ? transports.filter((name) => isTransport(name)) : [];
  return {
    ...answer.credential,
    response: { clientDataJSON: answer.clientDataJSON, attestationObject, transports: known },
    clientExtensionResults: { credProps: { rk: isStoredOnDevice(answer.extensions) } },
  };
}

/** The parts of CollectedClientData that the library does not judge as strictly as we do. */
interface ClientData {
  readonly origin: string;
  readonly isCrossOrigin: boolean;
}

export function clientDataOf(clientDataJSON: string): ClientData | null {
  const data = jsonObject(Buffer.from(clientDataJSON, 'base64url').toString());
  if (data === null || typeof data['origin'] !== 'string') return null;
  const { origin, crossOrigin, topOrigin } = data;
  return { origin, isCrossOrigin: (crossOrigin ?? false) !== false || topOrigin !== undefined };
}

interface Credential {
  readonly credential: {
    readonly id: string;
    readonly rawId: string;
    readonly type: 'public-key';
    readonly clientExtensionResults: Record<string, never>;
  };
  readonly clientDataJSON: string;
  readonly response: JsonObject;
  readonly extensions: unknown;
}

function credentialOf(text: string): Credential | null {
  const { id, type, response, clientExtensionResults } = jsonObject(text) ?? {};
  if (!isBase64Url(id) || id.length > MAX_CREDENTIAL_ID || type !== 'public-key') return null;
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return null;
  const fields = response as JsonObject;
  const { clientDataJSON } = fields;
  if (!isBase64Url(clientDataJSON)) return null;
  return {
    credential: { id, rawId: id, type, clientExtensionResults: {} },
    clientDataJSON,
    response: fields,
    extensions: clientExtensionResults,
  };
}

/** Only an explicit "no" counts: not every authenticator answers (WebAuthn §10.1.3). */
function isStoredOnDevice(extensions: unknown): boolean {
  const { credProps } = (extensions ?? {}) as { readonly credProps?: { readonly rk?: unknown } | null };
  return credProps?.rk !== false;
}

const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const;

function isTransport(name: unknown): name is (typeof TRANSPORTS)[number] {
  return (TRANSPORTS as readonly unknown[]).includes(name);
}

function isBase64Url(value: unknown): value is string {
  return typeof value === 'string' && BASE64URL.test(value);
}

function jsonObject(text: string): JsonObject | null {
  try {
    const value = parseUniqueJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}

/** A person may look for a security key meanwhile. */
const VALID_MS = 10 * 60_000;
/** Clocks of nodes differ. */
const SKEW_MS = 60_000;
const SEAL_PURPOSE = 'identity-challenge';

/** What a passkey's answer is good for: an answer for one purpose is refused for every other. */
type ChallengePurpose = 'sign_in' | 'confirm' | 'add_passkey' | 'accept_invitation';

export interface ChallengeScope {
  readonly purpose: ChallengePurpose;
  /** The browser that asked for it. */
  readonly browser: string;
  /** Account of the session or the invitation; empty when a person logs in. */
  readonly accountId: string;
}

/** A challenge that was answered, and not used before as far as is known here. */
export interface AnsweredChallenge {
  readonly key: string;
  readonly validUntilMs: number;
}

interface ChallengePorts {
  readonly clock: { nowMs(): number };
  seal(purpose: string, text: string): string;
  open(purpose: string, sealed: string): string | null;
  randomText(bytes: number): string;
  /** True for one caller across all processes. */
  claimOnce(key: string, untilMs: number): Promise<boolean>;
}

interface Sealed {
  readonly purpose: string;
  readonly browser: string;
  readonly account: string;
  readonly until: number;
  readonly nonce: string;
}

/**
 * Challenges of passkeys. A challenge is the sealed text that says what it is for, so that nothing is stored for
 * visitors and any node checks the answer. Once a person has proved who they are with it, the store remembers that it
 * is spent.
 */
export class Challenges {
  readonly #ports: ChallengePorts;

  constructor(ports: ChallengePorts) {
    this.#ports = ports;
  }

  issue({ purpose, browser, accountId }: ChallengeScope): string {
    const sealed: Sealed = {
      purpose,
      browser: fingerprint(browser),
      account: accountId,
      until: this.#ports.clock.nowMs() + VALID_MS,
      nonce: this.#ports.randomText(16),
    };
    return this.#ports.seal(SEAL_PURPOSE, JSON.stringify(sealed));
  }

  /** The challenge of an answer, as the browser encodes it. Null: it is not ours, or for something else. */
  check(encoded: string, { purpose, browser, accountId }: ChallengeScope): AnsweredChallenge | 'expired' | null {
    const text = this.#ports.open(SEAL_PURPOSE, Buffer.from(encoded, 'base64url').toString('latin1'));
    if (text === null) return null;
    const sealed = JSON.parse(text) as Sealed;
    if (sealed.purpose !== purpose || sealed.account !== accountId || sealed.browser !== fingerprint(browser))
      return null;
    if (this.#ports.clock.nowMs() > sealed.until + SKEW_MS) return 'expired';
    return { key: `passkey-challenge:${hash('sha256', sealed.nonce)}`, validUntilMs: sealed.until + 2 * SKEW_MS };
  }

  /** True for the first answer only. */
  spend({ key, validUntilMs }: AnsweredChallenge): Promise<boolean> {
    return this.#ports.claimOnce(key, validUntilMs);
  }
}

/** The browser's secret itself is not in what it receives. */
function fingerprint(browser: string): string {
  return hash('sha256', browser, 'base64url');
}

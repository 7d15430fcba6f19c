import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { JsonObject } from '../../lib/json.ts';
import { parseUniqueJson } from '../../lib/text/json-shape.ts';

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
export interface ClientData {
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

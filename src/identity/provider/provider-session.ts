import { hash } from 'node:crypto';
import type { JsonObject } from '../../lib/json.ts';
import type { SessionWithoutApplication } from '../../store/store.ts';
import type { ProvedPeopleReader } from '../contracts/identity-people.ts';

/** The provider's session, as it is stored. */
export interface ProviderSession {
  readonly kind: 'Session';
  /** Value of the browser's cookie; another one after each login. */
  readonly jti: string;
  /** The same for the life of the session. */
  readonly uid: string;
  readonly accountId: string;
  /** Seconds since 1970, like all times of the library. */
  readonly iat: number;
  readonly exp: number;
  readonly loginTs: number;
  readonly amr: readonly string[];
  /** Id of the passkey that it began with. */
  readonly passkey?: string;
  readonly authorizations?: Readonly<Record<string, { readonly sid?: string; readonly grantId?: string }>>;
}

export function providerSession(payload: JsonObject): ProviderSession {
  return payload as unknown as ProviderSession;
}

/** Whether the person may still be logged in by this session. */
export function isOfKnownPerson(
  { accountId, passkey }: Pick<ProviderSession, 'accountId' | 'passkey'>,
  people: ProvedPeopleReader,
): boolean {
  return people.find(accountId) !== null && (passkey === undefined || people.isEnough(accountId, passkey));
}

/** Null: the session did not log in to the application. */
export function withoutApplication(payload: JsonObject, clientId: string): SessionWithoutApplication | null {
  const { authorizations = {}, ...rest } = providerSession(payload);
  if (!Object.hasOwn(authorizations, clientId)) return null;
  const { [clientId]: ended, ...others } = authorizations;
  return { payload: { ...rest, authorizations: others } as unknown as JsonObject, grantId: ended?.grantId ?? null };
}

/** `sid` in the tokens of all applications that a session logs in to: its logins end with one query. */
export function providerSessionId(sessionUid: string): string {
  return hash('sha256', `sid:${sessionUid}`, 'base64url').slice(0, 22);
}

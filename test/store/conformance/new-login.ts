import type { JsonObject } from '../../../src/kit/json.ts';
import type { LoginSession, NewLogin } from '../../../src/store/store.ts';

export interface LoginForTest extends Partial<Omit<LoginSession, 'version'>> {
  readonly userDoc?: JsonObject;
  readonly previousKeyHash?: string;
  readonly replaces?: readonly string[];
}

/** A login of the user identified by `userId`: the same text gives the same identity. */
export function newLogin(id: string, given: LoginForTest = {}): NewLogin {
  const { userId = 'au_1', userDoc = {}, previousKeyHash = null, replaces = [], ...session } = given;
  return {
    identity: identityOf(userId),
    newUserId: userId,
    userDoc,
    previousKeyHash,
    replaces,
    session: {
      id,
      keyHash: `key-of-${id}`,
      edgeId: 'edghts_1',
      issuer: 'https://idp.example.com',
      clientId: 'client-1',
      providerSessionId: null,
      lastActiveMs: 10,
      expiresAtMs: 0,
      doc: { id },
      secrets: null,
      ...session,
    },
  };
}

export function identityOf(userId: string): string {
  return `identity-of-${userId}`;
}

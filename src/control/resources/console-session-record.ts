import type { JsonObject } from '../../kit/json.ts';
import type { RecordReader } from '../../store/replica/record-table.ts';
import type { Change, StoredRecord } from '../../store/store.ts';
import { apiKeys } from './api_keys/api-keys.ts';

export { CONSOLE_SESSION_KIND } from '../../store/own-records.ts';

/** A login to the console. Cookie and token are stored as hashes, the API key not at all. */
export interface ConsoleSession {
  readonly id: string;
  readonly revision: number;
  readonly cookieHash: string;
  readonly tokenHash: string;
  readonly who: LoggedIn;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number;
  readonly lifetimeMs: number;
  readonly idleMs: number;
  readonly address: string;
  readonly userAgent: string;
}

export type LoggedIn =
  | { readonly kind: 'key'; readonly name: string; readonly apiKeyId: string; readonly scopes: readonly string[] }
  /**
   * A command on the machine of a node made a link. The session ends when the setting `local_commands` gives other
   * scopes.
   */
  | { readonly kind: 'local'; readonly name: string; readonly scopes: readonly string[] }
  | {
      readonly kind: 'person';
      readonly name: string;
      readonly subject: string;
      readonly issuer: string;
      /** `sid` of the provider's session, with which this one ends at our own provider. */
      readonly providerSessionId: string | null;
      readonly role: string;
      /** Fingerprint of the settings that gave the role: the session ends when they change. */
      readonly settings: string;
    };

export function sessionDoc(session: Omit<ConsoleSession, 'id' | 'revision'>): JsonObject {
  return { ...session } as unknown as JsonObject;
}

export function sessionOf({ id, revision, doc }: StoredRecord): ConsoleSession {
  return { ...(doc as unknown as ConsoleSession), id, revision };
}

export function endsAtMs({ createdAtMs, lastUsedAtMs, lifetimeMs, idleMs }: ConsoleSession): number {
  return Math.min(createdAtMs + lifetimeMs, lastUsedAtMs + idleMs);
}

/** What the first key was called until November 2026: no name for somebody who logs in with it. */
const FORMER_FIRST_KEY = 'Created on the first start';

/** Description of the key; its id if it has none. */
export function keyName(apiKeyId: string, reader: Pick<RecordReader, 'get'>): string {
  const description = reader.get(apiKeys.kind, apiKeyId)?.doc['description'];
  if (description === FORMER_FIRST_KEY) return 'First API key';
  return typeof description === 'string' && description !== '' ? description : apiKeyId;
}

/** Whether sessions may have ended with one of these changes. */
export function concernsSessions(changes: readonly Change[]): boolean {
  return changes.some((change) => (change.op === 'put' ? change.record : change.key).kind === apiKeys.kind);
}

/** A session ends with its time, and with its key: deleted, or with other scopes than at the login. */
export function isOver(session: ConsoleSession, reader: Pick<RecordReader, 'get'>, nowMs: number): boolean {
  if (endsAtMs(session) <= nowMs) return true;
  const { who } = session;
  if (who.kind !== 'key') return false;
  const key = reader.get(apiKeys.kind, who.apiKeyId);
  return key === undefined || JSON.stringify(key.doc['scopes']) !== JSON.stringify(who.scopes);
}

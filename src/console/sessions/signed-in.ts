import { rfc3339 } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type ConsoleSession, endsAtMs } from '../../resources/console-session-record.ts';
import type { Principal } from '../../resources/operation.ts';
import { isRole, scopesOfRole } from '../roles.ts';

/** Who acts in a session, and with which scopes. `all`: every scope that an API key can have. */
export function principalOf({ id, who }: ConsoleSession, all: readonly string[]): Principal {
  if (who.kind === 'key') return { apiKeyId: who.apiKeyId, scopes: who.scopes };
  if (who.kind === 'local') return { apiKeyId: who.name, scopes: who.scopes };
  return {
    apiKeyId: id,
    person: who.name,
    identity: { issuer: who.issuer, subject: who.subject },
    scopes: isRole(who.role) ? scopesOfRole(who.role, all) : [],
  };
}

/** What the page learns about its session. */
export function sessionView(session: ConsoleSession, all: readonly string[]): JsonObject {
  const { who } = session;
  return {
    id: session.id,
    expires_at: rfc3339(endsAtMs(session)),
    who: { name: who.name, kind: who.kind },
    scopes: principalOf(session, all).scopes,
    ...(who.kind === 'person' && { role: who.role }),
  };
}

import { CONSOLE_SESSION_KIND, sessionDoc } from '../../src/control/resources/console-session-record.ts';
import type { RecordPut } from '../../src/store/store.ts';

/** A session of a person whom nobody knows the secrets of. */
export function consoleSessionPut(id: string, nowMs: number): RecordPut {
  const doc = sessionDoc({
    cookieHash: '',
    tokenHash: '',
    who: {
      kind: 'person',
      name: 'ann@example.com',
      subject: 'ann',
      issuer: 'https://idp.example.com',
      providerSessionId: null,
      role: 'viewer',
      settings: '',
    },
    createdAtMs: nowMs,
    lastUsedAtMs: nowMs,
    lifetimeMs: 86_400_000,
    idleMs: 86_400_000,
    address: '127.0.0.1',
    userAgent: 'test',
  });
  return { kind: CONSOLE_SESSION_KIND, id, parent: null, doc, secrets: null, uniqueKeys: [], references: [] };
}

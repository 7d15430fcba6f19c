import type { Keyring } from '../../keyring.ts';
import type { LoginChange, LoginListener, LoginSession, LoginStore, LoginUser, Secrets } from '../../store.ts';
import { notifyListeners } from '../listeners.ts';
import { openSecrets, parseObject, sealSecrets } from '../seal.ts';
import type { SqlEngine } from '../sql-engine.ts';
import type { TimeAt } from '../statement.ts';
import type { LoginSessionRow, LoginUserRow } from './login-rows.ts';

/** Names the table in the seal: a session's secrets open nowhere else. */
export const LOGIN_SESSION_KIND = 'login_session';

const PRUNED_PER_TRANSACTION = 1_000;

export interface OpenedLoginStore {
  readonly store: LoginStore;
  /** Tells this process's listeners of changes that another write has made. */
  readonly announce: (changes: readonly LoginChange[]) => void;
}

export function createLoginStore(engine: SqlEngine, keyring: Keyring, timeAt: TimeAt): OpenedLoginStore {
  const listeners = new Set<LoginListener>();

  /**
   * Nothing is awaited between the write and this, so listeners are called in the order of the log, like those of
   * commits.
   */
  function announce(changes: readonly LoginChange[]): void {
    if (changes.length > 0) notifyListeners(listeners, changes);
  }

  function announceEnds(changes: readonly LoginChange[]): string[] {
    announce(changes);
    return changes.map(({ sessionId }) => sessionId);
  }

  function seal(id: string, secrets: Secrets | null): string | null {
    return sealSecrets({ kind: LOGIN_SESSION_KIND, id }, secrets, keyring);
  }

  function openSession(row: LoginSessionRow): LoginSession {
    const secrets = openSecrets({ kind: LOGIN_SESSION_KIND, id: row.id }, row.secrets, keyring);
    return { ...row, doc: parseObject(row.doc), secrets };
  }

  const store: LoginStore = {
    recordLogin: async (login) => {
      const { session } = login;
      const { sessions, changes } = await engine.write('recordLogin', {
        ...login,
        session: { ...session, doc: JSON.stringify(session.doc), secrets: seal(session.id, session.secrets) },
      });
      announce(changes);
      return sessions.map(openSession);
    },
    findByKey: async (keyHash) => (await engine.readProven('findLoginsByKey', keyHash)).map(openSession),
    getUser: async (id) => {
      const row = await engine.read('getLoginUser', id);
      return row === null ? null : userOf(row);
    },
    getSession: async (id) => {
      const row = await engine.readProven('getLoginSession', id);
      return row === null ? null : openSession(row);
    },
    listUsers: async (query) => (await engine.read('listLoginUsers', query)).map(userOf),
    listSessions: async (query) => (await engine.read('listLoginSessions', query)).map(openSession),
    touch: async (activity) => {
      if (activity.length > 0) await engine.write('touchLogins', activity);
    },
    claimRefresh: (id, nowMs, untilMs) => engine.write('claimLoginRefresh', id, timeAt(nowMs), untilMs),
    replaceTokens: async (id, expectedVersion, { doc, secrets, user }) => {
      const tokens = { doc: JSON.stringify(doc), secrets: seal(id, secrets), ...(user !== undefined && { user }) };
      const { session, changes } = await engine.write('replaceLoginTokens', id, expectedVersion, tokens);
      announce(changes);
      return session === null ? null : openSession(session);
    },
    releaseRefresh: (id) => engine.write('releaseLoginRefresh', id),
    deleteSession: async (id) => announceEnds(await engine.write('deleteLoginSession', id)).length > 0,
    deleteUser: async (id) => {
      const { isDeleted, changes } = await engine.write('deleteLoginUser', id);
      announce(changes);
      return isDeleted;
    },
    endByKey: async (keyHash) => announceEnds(await engine.write('endLoginsByKey', keyHash)),
    endByProvider: async (logout) => {
      const changes = await engine.write('endLoginsByProvider', logout);
      return changes === null ? null : announceEnds(changes);
    },
    claimOnce: (key, untilMs) => engine.write('claimLoginOnce', key, untilMs),
    endOrphans: async (edgeId, kept) => announceEnds(await engine.write('endOrphanedLogins', edgeId, kept)),
    listEdgeIds: () => engine.read('listLoginEdgeIds'),
    prune: async (nowMs, unusedSinceMs) => {
      const ended: string[] = [];
      for (;;) {
        const ids = announceEnds(await engine.write('pruneLogins', nowMs, unusedSinceMs, PRUNED_PER_TRANSACTION));
        for (const id of ids) ended.push(id);
        if (ids.length < PRUNED_PER_TRANSACTION) return ended;
      }
    },
    onChanged: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onForeignChange: (listener) => engine.onForeignLogins(listener),
    changesSince: (seq) => engine.readProven('readLoginChangesSince', seq),
    onReset: (reload) => engine.history.onReset(reload),
    currentSeq: () => engine.read('readLoginSeq'),
  };
  return { store, announce };
}

function userOf({ id, doc }: LoginUserRow): LoginUser {
  return { id, doc: parseObject(doc) };
}

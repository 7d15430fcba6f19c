import type { Keyring } from '../keyring.ts';
import type { LoginSession, LoginStore, LoginUser } from '../store.ts';
import type { LoginSessionRow, LoginUserRow } from './login-rows.ts';
import { openSecrets, parseObject, sealSecrets } from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';

/** Names the table in the seal: a session's secrets open nowhere else. */
export const LOGIN_SESSION_KIND = 'login_session';

export function createLoginStore(engine: SqlEngine, keyring: Keyring): LoginStore {
  function openSession(row: LoginSessionRow): LoginSession {
    const secrets = openSecrets({ kind: LOGIN_SESSION_KIND, id: row.id }, row.secrets, keyring);
    return { ...row, doc: parseObject(row.doc), secrets };
  }

  return {
    putUser: ({ id, doc }) => engine.write('putLoginUser', { id, doc: JSON.stringify(doc) }),
    putSession: (session) =>
      engine.write('putLoginSession', {
        ...session,
        doc: JSON.stringify(session.doc),
        secrets: sealSecrets({ kind: LOGIN_SESSION_KIND, id: session.id }, session.secrets, keyring),
      }),
    getUser: async (id) => {
      const row = await engine.read('getLoginUser', id);
      return row === null ? null : userOf(row);
    },
    getSession: async (id) => {
      const row = await engine.read('getLoginSession', id);
      return row === null ? null : openSession(row);
    },
    listUsers: async (query) => (await engine.read('listLoginUsers', query)).map(userOf),
    listSessions: async (query) => (await engine.read('listLoginSessions', query)).map(openSession),
    deleteSession: (id) => engine.write('deleteLoginSession', id),
    deleteUser: (id) => engine.write('deleteLoginUser', id),
  };
}

function userOf({ id, doc }: LoginUserRow): LoginUser {
  return { id, doc: parseObject(doc) };
}

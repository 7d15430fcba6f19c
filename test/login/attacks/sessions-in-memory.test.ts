import assert from 'node:assert/strict';
import { hash, randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import type { LoginChange, LoginRecord, LoginRecords } from '../../../src/modules/contract/login-store.ts';
import { type BrowserKey, SessionCookies } from '../../../src/modules/login/session-cookie.ts';
import { Sessions } from '../../../src/modules/login/sessions/sessions.ts';

/**
 * The state in memory with a store whose responses the test delays or fails: races that real parts show once a year.
 */
const cookies = new SessionCookies(
  (purpose, data) => hash('sha256', `${purpose}/${data}`),
  (bytes) => randomBytes(bytes).toString('base64url'),
);

function record(id: string, key: BrowserKey, clientId = 'shop'): LoginRecord {
  return {
    id,
    userId: 'au_1',
    keyHash: key.keyHash,
    edgeId: 'edghts_1',
    issuer: 'https://idp.example.com',
    clientId,
    providerSessionId: null,
    lastActiveMs: Date.now(),
    expiresAtMs: 0,
    version: 1,
    doc: { host: 'app.example.com', created_at: new Date().toISOString(), scopes: [] },
    secrets: {},
  };
}

/** The store shared by all processes, as far as the memory queries it. */
class Rows {
  readonly rows = new Map<string, LoginRecord>();
  isDown = false;
  readonly sessions = new Sessions(
    {
      findByKey: (keyHash: string) => this.#answer([...this.rows.values()].filter((row) => row.keyHash === keyHash)),
      getSession: (id: string) => this.#answer(this.rows.get(id) ?? null),
    } as Partial<LoginRecords> as LoginRecords,
    cookies,
    { nowMs: () => Date.now() },
  );

  put(...records: readonly LoginRecord[]): void {
    for (const each of records) this.rows.set(each.id, each);
  }

  async openedBy(key: BrowserKey): Promise<readonly string[]> {
    const session = await this.sessions.load(key);
    return (session?.grants ?? []).filter((grant) => !grant.isEnded).map((grant) => grant.id);
  }

  #answer<Value>(value: Value): Promise<Value> {
    return this.isDown ? Promise.reject(new Error('the store is away')) : Promise.resolve(value);
  }
}

function changeOf({ id, keyHash }: LoginRecord, op: LoginChange['op']): LoginChange {
  return { op, sessionId: id, keyHash };
}

async function settled(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

suite('logins in memory', () => {
  test('the old key opens nothing when another process moved a login to a new key that arrived before the report', async () => {
    const store = new Rows();
    const [old, next] = [cookies.create(), cookies.create()];
    store.put(record('as_1', old));
    assert.deepEqual(await store.openedBy(old), ['as_1']);
    const [moved, added] = [record('as_1', next), record('as_2', next, 'other')];
    store.put(moved, added);
    assert.deepEqual(await store.openedBy(next), ['as_1', 'as_2']);
    store.sessions.changed([changeOf(moved, 'put'), changeOf(added, 'put')]);
    await settled();
    assert.deepEqual(await store.openedBy(old), []);
    assert.deepEqual(await store.openedBy(next), ['as_1', 'as_2']);
  });

  test('a login revoked before this process knew that it was written stays revoked', async () => {
    const store = new Rows();
    const key = cookies.create();
    const written = record('as_1', key);
    store.sessions.changed([changeOf(written, 'put'), changeOf(written, 'end')]);
    void store.sessions.loggedIn(key, [written], null);
    assert.deepEqual(await store.openedBy(key), []);
  });

  test('a change that cannot be read does not end the process, and its subject is looked up again', async () => {
    const store = new Rows();
    const [old, next] = [cookies.create(), cookies.create()];
    store.put(record('as_1', old));
    assert.deepEqual(await store.openedBy(old), ['as_1']);
    const moved = record('as_1', next);
    store.put(moved);
    store.isDown = true;
    // An unhandled rejection would fail the test, as it ends the server.
    store.sessions.changed([changeOf(moved, 'put')]);
    await settled();
    await assert.rejects(async () => store.openedBy(old), /the store is away/);
    store.isDown = false;
    assert.deepEqual(await store.openedBy(old), []);
    assert.deepEqual(await store.openedBy(next), ['as_1']);
  });

  test('a login whose new tokens cannot be read goes on, and the follower is asked to repeat it', async () => {
    const store = new Rows();
    const key = cookies.create();
    const known = record('as_1', key);
    store.put(known);
    assert.deepEqual(await store.openedBy(key), ['as_1']);
    store.isDown = true;
    await assert.rejects(store.sessions.follow([changeOf(known, 'put')]), /the store is away/);
    assert.deepEqual(await store.openedBy(key), ['as_1']);
  });

  test('an unavailable store opens nothing that is not in memory, and is asked again', async () => {
    const store = new Rows();
    const key = cookies.create();
    store.put(record('as_1', key));
    store.isDown = true;
    await assert.rejects(async () => store.openedBy(key), /the store is away/);
    store.isDown = false;
    assert.deepEqual(await store.openedBy(key), ['as_1']);
  });
});

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, afterEach, test } from 'node:test';
import { decodeJwt } from 'jose';
import type { SharedPorts } from '../../../src/modules/contract/keeps-state.ts';
import type { LoginRecords } from '../../../src/modules/contract/login-store.ts';
import type { SigningKeyRecord } from '../../../src/modules/login/assertion-signer.ts';
import { LoginRuntime } from '../../../src/modules/login/login-runtime.ts';
import { settingsOf } from '../../../src/modules/module-settings.ts';
import { oidc } from '../../../src/modules/oidc/oidc.ts';
import { storeErrors } from '../../../src/store/errors.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { idleLogins, inertPorts } from '../../support/inert-ports.ts';
import { LoginWorld, type Seen } from '../../support/login-world.ts';
import { tempDir } from '../../support/temp-dir.ts';

const world = await LoginWorld.open({ after });
afterEach(() => world.clock.reset());

test('a clock that was a day ahead leaves no assertion that upstreams reject until tomorrow', async () => {
  const { host } = await world.site();
  const browser = world.browser();
  await browser.logIn(host);
  world.clock.advance(86_400);
  assert.equal((await browser.open(host)).status, 200);
  world.clock.reset();
  const seen = JSON.parse((await browser.open(host)).text) as Seen;
  const { nbf = Number.NaN } = decodeJwt(String(seen.headers['postern-auth-assertion']));
  assert.ok(nbf * 1000 <= Date.now(), `not before ${new Date(nbf * 1000).toISOString()}`);
});

test('a session cookie that cannot be looked up gets an error page, and nothing goes upstream', async (t) => {
  const dataDir = await tempDir(t);
  const first = await LoginWorld.open(t, { dataDir });
  const { host } = await first.site();
  const browser = first.browser();
  await browser.logIn(host);
  await first.edge.world.close();
  const seen: string[] = [];
  first.upstream.on('request', ({ url }) => seen.push(String(url)));
  // After a restart the key is proven but not in memory; and now the store is gone.
  const again = first.servedBy(await EdgeWorld.open(t, {}, { dataDir }));
  await again.edge.world.store.close();
  const answer = await browser.at(again).open(host, '/secret');
  assert.equal(answer.status, 503);
  assert.equal(answer.headers['postern-error-code'], 'ERR_POSTERN_LOGIN_UNAVAILABLE');
  assert.deepEqual(seen, []);
});

function runtimePorts(keys: readonly SigningKeyRecord[], logins: LoginRecords = idleLogins()): SharedPorts {
  return inertPorts({
    records: {
      list: () =>
        keys.map(({ id, createdAtMs, privateKey: text }) => ({
          id,
          doc: { created_at_ms: createdAtMs },
          secret: { field: 'private_key', text },
        })),
      add: () => Promise.reject(new Error('the disk is full')),
      remove: () => Promise.resolve(),
    },
    logins,
  });
}

test('a store that accepts no new signing key prevents a start only when there is none at all', async (t) => {
  const settings = settingsOf(new Map(), oidc);
  await assert.rejects(LoginRuntime.open(runtimePorts([]), settings), /the disk is full/);
  const old = signingKey(40);
  const runtime = await LoginRuntime.open(runtimePorts([old]), settings);
  t.after(() => runtime.close());
  assert.equal(runtime.signer.publicKeys().keys.length, 1);
});

test('a database that is away does not disturb the end of the process', async () => {
  let changed = (): void => {};
  let reject = (_error: Error): void => {};
  const logins = idleLogins({
    onForeignChange: (listener: () => void) => {
      changed = listener;
      return () => {};
    },
    changesSince: () => new Promise((_resolve, rejected) => (reject = rejected)),
  });
  const runtime = await LoginRuntime.open(runtimePorts([signingKey(0)], logins), settingsOf(new Map(), oidc));
  changed();
  const closed = runtime.close();
  reject(storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', 'away'));
  await closed;
});

function signingKey(ageDays: number): SigningKeyRecord {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return { id: 'asg-0', createdAtMs: Date.now() - ageDays * 86_400_000, privateKey };
}

import assert from 'node:assert/strict';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { backupStore } from '../../src/store/backup/backup-store.ts';
import { restoreStore } from '../../src/store/backup/restore-store.ts';
import { rotateKey } from '../../src/store/rotate-key.ts';
import { ENGINES, emptyLocation, usePostgres } from '../store/engines.ts';
import { IDENTITY_ORIGIN, IdentityWorld } from '../support/identity-world.ts';
import { SoftAuthenticator } from '../support/soft-authenticator.ts';
import { tempDir } from '../support/temp-dir.ts';

usePostgres();

const newDevice = (): SoftAuthenticator => new SoftAuthenticator(IDENTITY_ORIGIN);

/** A stopped server whose people, links, application and keys are known. */
async function filled(t: TestContext) {
  const dataDir = await tempDir(t);
  const world = await IdentityWorld.open(t, { dataDir });
  const ana = await world.person('ana@example.com', { groups: ['ops'] });
  const ben = await world.invite('ben@example.com');
  const client = await world.edge.api('POST', '/oidc_clients', {
    name: 'Wiki',
    redirect_uris: ['https://wiki.example.com/callback'],
    allow_groups: ['ops'],
  });
  const keys = (await world.browser().open('/jwks')).text;
  await world.edge.world.close();
  return { dataDir, ana, ben, client, keys };
}

type Filled = Awaited<ReturnType<typeof filled>>;

async function assertWhole(world: IdentityWorld, { ana, ben, client, keys }: Filled): Promise<void> {
  assert.equal((await world.browser().logIn(ana.device)).headers['location'], '/account');
  assert.deepEqual((await world.edge.api('GET', `/user_accounts/${ana.id}`)).groups, ['ops']);
  assert.equal((await world.browser().open('/jwks')).text, keys);
  const redeemed = async (secret: string): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`${client.client_id}:${secret}`).toString('base64')}`;
    const fields = { grant_type: 'refresh_token', refresh_token: 'x' };
    // An application, not a page.
    const headers = { authorization, accept: 'application/json', origin: '', 'sec-fetch-site': '' };
    return JSON.parse((await world.browser().submit('/token', fields, headers)).text).error;
  };
  // The secret is right, and the token is not.
  assert.equal(await redeemed(client.client_secret), 'invalid_grant');
  assert.equal(await redeemed('postern_oc_wrong'), 'invalid_client');
  assert.equal((await world.browser().accept(ben.url, newDevice())).status, 303);
  // Used before, and just now.
  for (const { url } of [ana, ben]) assert.equal((await world.browser().accept(url, newDevice())).status, 410);
}

suite('a backup', { concurrency: 2 }, () => {
  for (const engine of ENGINES) {
    test(`restores people, passkeys, invitations, applications and signing keys on ${engine}`, async (t) => {
      const before = await filled(t);
      const file = join(await tempDir(t), 'store.backup');
      await backupStore({ source: { engine: 'sqlite', dataDir: before.dataDir }, file });
      const target = await emptyLocation(t, engine);
      await mkdir(target.dataDir, { recursive: true, mode: 0o700 });
      await cp(join(before.dataDir, 'secret.key'), join(target.dataDir, 'secret.key'));
      await restoreStore({ target, file, replace: false });
      const databaseUrl = 'url' in target ? { databaseUrl: target.url } : {};
      const world = await IdentityWorld.open(t, { dataDir: target.dataDir, ...databaseUrl });
      await assertWhole(world, before);
    });
  }
});

test('with a new secret key, people, passkeys, invitations, applications and signing keys stay', async (t) => {
  const before = await filled(t);
  await rotateKey({ target: { engine: 'sqlite', dataDir: before.dataDir } });
  const world = await IdentityWorld.open(t, { dataDir: before.dataDir });
  await assertWhole(world, before);
});

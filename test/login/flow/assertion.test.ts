import assert from 'node:assert/strict';
import type { Agent } from 'node:https';
import { test } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, type JWTVerifyResult, jwtVerify } from 'jose';
import { EdgeWorld } from '../../support/edge-world.ts';
import { LoginWorld, MovableClock } from '../../support/login-world.ts';
import { seenIn } from './steps.ts';

const DAY_S = 86_400;
/** The edge's certificates follow its own clock, a month ahead of this process's. */
const ANY_TIME = { rejectUnauthorized: false };

interface Asked {
  readonly edge: EdgeWorld;
  readonly host: string;
  readonly cookie: string;
  readonly clock: MovableClock;
}

async function assertionAt({ edge, host, cookie }: Asked, agent?: Agent): Promise<string> {
  const options = { headers: { cookie }, ...ANY_TIME, ...(agent !== undefined && { agent }) };
  const seen = seenIn(await edge.ask(host, '/', options));
  return String(seen.headers['postern-auth-assertion']);
}

async function keysAt({ edge, host }: Asked): Promise<readonly { readonly kid: string; readonly d?: string }[]> {
  const answer = await edge.ask(host, '/.postern/jwks.json', ANY_TIME);
  assert.equal(answer.headers['access-control-allow-origin'], '*');
  return JSON.parse(answer.text).keys;
}

async function verified(asked: Asked, token: string, audience = asked.host): Promise<JWTVerifyResult> {
  const keys = createLocalJWKSet({ keys: [...(await keysAt(asked))] as never });
  return jwtVerify(token, keys, { audience, algorithms: ['ES256'], currentDate: new Date(asked.clock.nowMs()) });
}

test('an upstream can verify the user, and nobody can reuse it for another audience, later, or changed', async (t) => {
  const world = await LoginWorld.open(t);
  const { host } = await world.site();
  const browser = world.browser();
  const { headers } = seenIn(await browser.logIn(host));
  const asked = {
    edge: world.edge,
    host,
    clock: world.clock,
    cookie: browser.jar.header(`${world.origin(host)}/`) ?? '',
  };
  const token = String(headers['postern-auth-assertion']);
  const { payload } = await verified(asked, token);
  assert.equal(payload.sub, headers['postern-auth-user-id']);
  assert.equal(payload['email'], 'alice@example.com');
  assert.equal(payload['provider'], world.provider.issuer);
  assert.equal(payload['provider_sub'], 'alice');
  assert.equal(payload.iss, world.origin(host));
  assert.ok((payload.exp ?? 0) - (payload.iat ?? 0) <= 300);
  for (const key of await keysAt(asked)) assert.equal(key.d, undefined, 'only public keys are shown');
  await assert.rejects(verified(asked, token, 'other.localhost'), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' });
  const [head, body, signature] = token.split('.') as [string, string, string];
  const forged = Buffer.from(JSON.stringify({ ...payload, sub: 'au_root' })).toString('base64url');
  await assert.rejects(verified(asked, `${head}.${forged}.${signature}`));
  await assert.rejects(verified(asked, `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`));
  // Each worker signs its own, so both requests go to one.
  const agent = world.edge.agent();
  assert.equal(await assertionAt(asked, agent), await assertionAt(asked, agent), 'the same for a minute');
  agent.destroy();
  world.clock.advance(400);
  await assert.rejects(verified(asked, token), { code: 'ERR_JWT_EXPIRED' });
  const renewed = await assertionAt(asked);
  await verified(asked, renewed);
  const other = await world.site();
  const elsewhere = world.browser();
  world.clock.advance(-400);
  const { headers: there } = seenIn(await elsewhere.logIn(other.host));
  await assert.rejects(verified(asked, String(there['postern-auth-assertion'])), 'of another host');
});

const YEAR_SECONDS = 31_536_000;

test('rotates keys after 30 days: publishes the new one before it signs, and the old one as long as needed', async (t) => {
  const clock = new MovableClock();
  const world = await LoginWorld.open(t, { clock });
  const { host } = await world.site({ maximum_duration: YEAR_SECONDS, inactivity_timeout: YEAR_SECONDS });
  const browser = world.browser();
  await browser.logIn(host);
  const cookie = browser.jar.header(`${world.origin(host)}/`) ?? '';
  let asked: Asked = { edge: world.edge, host, cookie, clock };
  const [first] = await keysAt(asked);
  assert.equal(decodeProtectedHeader(await assertionAt(asked)).kid, first?.kid);
  const { dataDir } = world.edge.world;

  const restarted = async (seconds: number): Promise<void> => {
    await asked.edge.world.close();
    clock.advance(seconds);
    asked = { ...asked, edge: await EdgeWorld.open(t, {}, { clock, dataDir }) };
  };

  await restarted(29 * DAY_S);
  assert.equal((await keysAt(asked)).length, 1);
  await restarted(2 * DAY_S);
  const both = await keysAt(asked);
  assert.equal(both.length, 2);
  const before = await assertionAt(asked);
  assert.equal(decodeProtectedHeader(before).kid, first?.kid, 'the new key is shown for an hour before it signs');
  await verified(asked, before);
  clock.advance(2 * 3600);
  const now = await assertionAt(asked);
  const { kid } = decodeProtectedHeader(now);
  assert.notEqual(kid, first?.kid);
  assert.ok(
    both.some((key) => key.kid === kid),
    'it was shown before',
  );
  await verified(asked, now);
  await restarted(3 * DAY_S);
  await restarted(1);
  assert.deepEqual(
    (await keysAt(asked)).map((key) => key.kid),
    [kid],
  );
  await verified(asked, await assertionAt(asked));
});

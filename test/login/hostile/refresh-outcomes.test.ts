import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, afterEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { openWebSocket } from '../../support/edge-websocket.ts';
import { shareOfCases } from '../../support/share-of-cases.ts';
import type { Bend, Endpoint } from './hostile-provider.ts';
import { HostileSite, identityIn } from './hostile-site.ts';
import { makeSigningKey } from './signing-key.ts';

const site = await HostileSite.open({ after }, { env: { POSTERN_LOGIN_OUTAGE_HOURS: '2' } });
const { provider, world } = site;
const echoes = new WebSocketServer({ server: world.upstream });
echoes.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));

afterEach(() => {
  provider.bend = {};
  provider.user = { sub: 'user-1', email: 'ada@example.com', email_verified: true, name: 'Ada' };
  world.clock.reset();
});

/** Past the access token, and within the tolerance of the ID token's times. */
const EXPIRED_S = 301;
const stranger = await makeSigningKey('RS256');

function answering(endpoint: Endpoint, respond: (response: ServerResponse) => void): Bend {
  return {
    answer: (asked, _request, response) => {
      if (asked !== endpoint) return false;
      respond(response);
      return true;
    },
  };
}

const json = (status: number, body: object, headers: Record<string, string> = {}) =>
  answering('token', (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });

const ENDS: Readonly<Record<string, Bend>> = {
  invalid_grant: json(400, { error: 'invalid_grant' }),
  access_denied: json(400, { error: 'access_denied' }),
  'access_denied with 403': json(403, { error: 'access_denied' }),
  interaction_required: json(400, { error: 'interaction_required' }),
  unauthorized_client: json(400, { error: 'unauthorized_client' }),
  invalid_client: json(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic realm="x"' }),
  invalid_scope: json(400, { error: 'invalid_scope' }),
  'temporarily_unavailable with 400': json(400, { error: 'temporarily_unavailable' }),
  '400 without a body': answering('token', (response) => void response.writeHead(400).end()),
  '401 without a body': answering('token', (response) => void response.writeHead(401).end()),
  '403 without a body': answering('token', (response) => void response.writeHead(403).end()),
  '404': answering('token', (response) => void response.writeHead(404).end('gone')),
  'a redirect': answering('token', (response) => void response.writeHead(307, { location: '/elsewhere' }).end()),
  '200 with a page': answering(
    'token',
    (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  ),
  '200 with an error': json(200, { error: 'access_denied' }),
  'a huge answer': answering('token', (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"access_token":"${'a'.repeat(1_100_000)}"}`);
  }),
  'another sub': { idTokenClaims: (claims) => ({ ...claims, sub: 'user-2' }) },
  'another iss': { idTokenClaims: (claims) => ({ ...claims, iss: 'https://evil.example' }) },
  'another aud': { idTokenClaims: (claims) => ({ ...claims, aud: 'another' }) },
  'another azp': { idTokenClaims: (claims) => ({ ...claims, azp: 'another' }) },
  'another nonce': { idTokenClaims: (claims) => ({ ...claims, nonce: 'another' }) },
  'an expired ID token': { idTokenClaims: (claims) => ({ ...claims, exp: provider.nowSeconds() - 61 }) },
  "a stranger's signature": { signIdToken: (header, claims) => provider.sign(header, claims, stranger) },
  'userinfo about another sub': {
    idTokenClaims: (claims) => ({ ...claims, email: undefined }),
    userinfo: (claims) => ({ ...claims, sub: 'user-2' }),
  },
  'userinfo that refuses': {
    idTokenClaims: (claims) => ({ ...claims, email: undefined }),
    ...answering('userinfo', (response) => void response.writeHead(401).end()),
  },
};

suite('a refresh that the provider rejects, or answers untrustworthily, ends the login', () => {
  for (const [name, bend] of shareOfCases(Object.entries(ENDS), 0, 2)) {
    test(name, async () => {
      const browser = await site.logIn();
      const before = await site.sessions();
      world.clock.advance(EXPIRED_S);
      provider.bend = bend;
      assert.equal((await site.open(browser)).status, 302);
      assert.equal(await site.sessions(), before - 1);
      provider.bend = {};
      assert.equal((await site.open(browser)).status, 302, 'over for good');
    });
  }
});

const KEEPS: Readonly<Record<string, Bend>> = {
  '429': json(429, {}),
  '429 with an error': json(429, { error: 'invalid_grant' }),
  '500': answering('token', (response) => void response.writeHead(500).end()),
  '502 with an error': json(502, { error: 'invalid_grant' }),
  '503 with a challenge': json(503, { error: 'invalid_grant' }, { 'www-authenticate': 'Bearer' }),
  'a connection that breaks': answering('token', (response) => void response.destroy()),
  'an answer that breaks off': answering('token', (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
    response.write('{"access_token":', () => response.destroy());
  }),
  'no HTTP': answering('token', (response) => void response.socket?.end('SSH-2.0-OpenSSH\r\n')),
};

suite('an unreachable provider keeps the login for a time', () => {
  for (const [name, bend] of shareOfCases(Object.entries(KEEPS), 0, 2)) {
    test(name, async () => {
      const browser = await site.logIn();
      world.clock.advance(EXPIRED_S);
      provider.bend = bend;
      const asked = site.tokenRequests('refresh_token');
      assert.equal((await site.open(browser)).status, 200);
      assert.equal((await site.open(browser)).status, 200, 'not asked again at once');
      assert.ok(site.tokenRequests('refresh_token') - asked <= 1);
      world.clock.advance(3600);
      assert.equal((await site.open(browser)).status, 200, 'within login_outage_hours');
      world.clock.advance(3600);
      assert.equal((await site.open(browser)).status, 302, 'over: two hours since the last success');
    });
  }

  test('a successful refresh restarts the time', async () => {
    const browser = await site.logIn();
    for (let round = 0; round < 3; round += 1) {
      provider.bend = KEEPS['500'] ?? {};
      world.clock.advance(EXPIRED_S);
      assert.equal((await site.open(browser)).status, 200);
      world.clock.advance(31);
      // An hour later, ID tokens of a provider whose clock stands still have expired.
      provider.bend = { tokenAnswer: (answer) => ({ ...answer, id_token: undefined }) };
      assert.equal((await site.open(browser)).status, 200);
      world.clock.advance(3600);
      assert.equal((await site.open(browser)).status, 200);
    }
  });

  test('keeps tokens that arrived while the keys were unavailable, and the claims wait', async () => {
    const browser = await site.logIn();
    world.clock.advance(EXPIRED_S);
    const { keys } = provider;
    await provider.rotateKeys('RS256');
    provider.user = { ...provider.user, name: 'Ada Lovelace' };
    provider.bend = answering('jwks', (response) => void response.writeHead(503).end());
    assert.equal(identityIn(await site.open(browser)).name, 'Ada');
    const spent = provider.tokenRequests.at(-1)?.body.get('refresh_token');
    provider.bend = {};
    world.clock.advance(31);
    assert.equal(identityIn(await site.open(browser)).name, 'Ada Lovelace');
    assert.notEqual(provider.tokenRequests.at(-1)?.body.get('refresh_token'), spent, 'the rotated one is used next');
    provider.keys = keys;
  });
});

suite('applies what a refresh reports about the user', () => {
  test('from the ID token: name, e-mail and claims, upstream and in the API', async () => {
    const browser = await site.logIn();
    assert.equal(identityIn(await site.open(browser)).name, 'Ada');
    provider.user = { sub: 'user-1', email: 'ada@new.example', email_verified: true, name: 'Ada L.', groups: ['b'] };
    world.clock.advance(EXPIRED_S);
    const told = identityIn(await site.open(browser));
    assert.deepEqual([told.email, told.name, told.claims['groups']], ['ada@new.example', 'Ada L.', ['b']]);
    const { application_users: users } = await world.edge.api('GET', '/app/users');
    assert.deepEqual([users[0].email, users[0].name], ['ada@new.example', 'Ada L.']);
    // A removed claim is removed.
    provider.user = { sub: 'user-1', email: 'ada@new.example', email_verified: false };
    world.clock.advance(EXPIRED_S);
    provider.bend = {
      idTokenClaims: (claims) => ({ ...claims, iat: provider.nowSeconds() + 600, exp: provider.nowSeconds() + 999 }),
    };
    const later = identityIn(await site.open(browser));
    assert.deepEqual([later.email, later.name, later.claims['groups']], [undefined, undefined, undefined]);
  });

  test('from userinfo, when the login needed it and the refresh has no ID token', async () => {
    provider.bend = { idTokenClaims: (claims) => ({ ...claims, email: undefined, email_verified: undefined }) };
    const browser = await site.logIn();
    assert.equal(identityIn(await site.open(browser)).email, 'ada@example.com');
    provider.user = { sub: 'user-1', email: 'ada@new.example', email_verified: true };
    provider.bend = { tokenAnswer: (answer) => ({ ...answer, id_token: undefined }) };
    world.clock.advance(EXPIRED_S);
    const told = identityIn(await site.open(browser));
    assert.deepEqual([told.email, told.name], ['ada@new.example', 'Ada'], 'the ID token of the login still counts');
  });

  test('an ID token of a refresh may repeat the nonce of the login', async () => {
    const browser = await site.logIn();
    const nonces: unknown[] = [];
    provider.bend = {
      idTokenClaims: (claims) => {
        nonces.push(claims['nonce']);
        return claims;
      },
    };
    const other = world.browser();
    await site.logIn(other);
    world.clock.advance(EXPIRED_S);
    provider.bend = { idTokenClaims: (claims) => ({ ...claims, nonce: nonces[0] }) };
    assert.equal((await site.open(other)).status, 200);
    assert.equal((await site.open(browser)).status, 302, 'another login has another nonce');
  });
});

test('a stream in progress is refreshed by its own traffic, and cut when the provider rejects it', async () => {
  const browser = await site.logIn();
  const socket = await openWebSocket(world, browser, site.host);
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve('closed')));
  const asked = site.tokenRequests('refresh_token');
  world.clock.advance(EXPIRED_S);
  socket.send('still there');
  for (let waited = 0; waited < 40 && site.tokenRequests('refresh_token') === asked; waited += 1) await sleep(50);
  // Waits for the running refresh.
  assert.equal((await site.open(browser)).status, 200);
  assert.equal(site.tokenRequests('refresh_token'), asked + 1);
  provider.bend = ENDS['access_denied'] ?? {};
  world.clock.advance(EXPIRED_S);
  socket.send('once more');
  assert.equal(await Promise.race([closed, sleep(3000, 'open', { ref: false })]), 'closed');
});

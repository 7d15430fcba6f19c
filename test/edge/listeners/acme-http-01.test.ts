import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';

const TOKEN = 'Zx-9_token';
const PROOF = `${TOKEN}.thumbprint`;
const PATH = `/.well-known/acme-challenge/${TOKEN}`;
const HOST = 'site.apps.test';

const world = await EdgeWorld.open({ after });
await world.edge(HOST);
await world.edge('other.apps.test');
const port = (world.world.server.addresses.edgeHttp as AddressInfo | undefined)?.port ?? 0;

async function expect(doc: object = {}, id = 'ch_1'): Promise<void> {
  const whole = {
    hostname: HOST,
    type: 'http-01',
    token: TOKEN,
    key_authorization: PROOF,
    expires_at: new Date(Date.now() + 60_000).toISOString(),
    ...doc,
  };
  const put = { kind: 'acme_challenge', id, parent: null, doc: whole, secrets: null, uniqueKeys: [], references: [] };
  assert.ok((await world.world.store.commit({ puts: [put] })).ok);
}

async function send(text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => {});
  socket.write(text, 'latin1');
  let answer = '';
  for await (const chunk of socket) answer += chunk;
  return answer;
}

function get(target: string, host = HOST, method = 'GET'): Promise<string> {
  return send(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
}

suite('http-01', () => {
  test('answers the exact token on its own host, and ends the connection', async () => {
    await expect();
    for (const host of [HOST, 'SITE.apps.TEST', `${HOST}:80`, `${HOST}.`]) {
      const answer = await get(PATH, host);
      assert.match(answer, /^HTTP\/1\.1 200 /);
      assert.match(answer, /content-type: text\/plain\r/i);
      assert.equal(answer.split('\r\n\r\n')[1], PROOF);
    }
    const [kept] = (await world.api('GET', `/requests?host=${HOST}`)).requests;
    assert.deepEqual([kept.path, kept.status, kept.bytes_out], [PATH, 200, PROOF.length]);
    assert.deepEqual(kept.decisions, [{ module: 'edge', decision: 'pass', reason: 'acme_challenge' }]);
    assert.match(await world.metrics(), /postern_edge_acme_challenges_total\{type="http-01"\} 4/);
  });

  test('answers HEAD without a body, and reads no body of a GET', async () => {
    await expect();
    assert.match(await get(PATH, HOST, 'HEAD'), /^HTTP\/1\.1 200 [\s\S]*\r\n\r\n$/);
    const smuggled = `GET ${PATH} HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 9\r\n\r\nGET / HTT`;
    assert.equal((await send(smuggled)).match(/HTTP\/1\.1 /g)?.length, 1);
  });

  for (const [what, target, host, method, status] of [
    ['another token', '/.well-known/acme-challenge/other', HOST, 'GET', 308],
    ['a part of the token', PATH.slice(0, -1), HOST, 'GET', 308],
    ['more than the token', `${PATH}x`, HOST, 'GET', 308],
    [
      'the token in other case',
      PATH.toUpperCase().replace('/.WELL-KNOWN/ACME-CHALLENGE', '/.well-known/acme-challenge'),
      HOST,
      'GET',
      308,
    ],
    ['a query', `${PATH}?x`, HOST, 'GET', 308],
    ['an escaped token', PATH.replace('Z', '%5A'), HOST, 'GET', 308],
    ['no token', '/.well-known/acme-challenge/', HOST, 'GET', 308],
    ['another configured host', PATH, 'other.apps.test', 'GET', 308],
    ['an unknown host', PATH, 'stranger.apps.test', 'GET', 404],
    ['the parent host', PATH, 'apps.test', 'GET', 404],
    ['another host with the dot of the root', PATH, 'other.apps.test.', 'GET', 308],
    ['two dots at the end', PATH, `${HOST}..`, 'GET', 400],
    ['dot segments', `/x/..${PATH}`, HOST, 'GET', 400],
    ['POST', PATH, HOST, 'POST', 308],
  ] as const) {
    test(`${what} gets what it gets without a challenge: ${status}`, async () => {
      await expect();
      assert.match(await get(target, host, method), new RegExp(`^HTTP/1\\.1 ${status} `));
    });
  }

  test('an expired or removed challenge, or one of the other type, redirects', async () => {
    for (const doc of [{ expires_at: new Date(Date.now() - 1000).toISOString() }, { type: 'tls-alpn-01' }]) {
      await expect(doc);
      assert.match(await get(PATH), /^HTTP\/1\.1 308 /);
    }
    await expect();
    assert.match(await get(PATH), /^HTTP\/1\.1 200 /);
    await world.world.store.commit({ deletes: [{ kind: 'acme_challenge', id: 'ch_1' }] });
    assert.match(await get(PATH), /^HTTP\/1\.1 308 /);
  });

  test('answers for a name that no edge has: the server’s own names', async () => {
    await expect({ hostname: 'api.apps.test' }, 'ch_2');
    assert.match(await get(PATH, 'api.apps.test'), /^HTTP\/1\.1 200 /);
    assert.match(await get('/', 'api.apps.test'), /^HTTP\/1\.1 404 /);
  });

  test('the HTTPS listener does not answer', async () => {
    await expect();
    assert.equal((await world.ask(HOST, PATH, { rejectUnauthorized: false })).status, 404);
  });
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import type { AddressInfo, LookupFunction } from 'node:net';
import { after, suite, test } from 'node:test';
import { type ClientOptions, WebSocket } from 'ws';
import { EdgeWorld } from '../../support/edge-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { webSocketUpstream } from './web-socket-upstream.ts';

const authority = await UpstreamAuthority.trusted({ after });
const plain = await webSocketUpstream({ after });
const secure = await webSocketUpstream({ after }, await authority.issue());
const world = await EdgeWorld.open({ after });
const plainSite = await world.site(await world.staticBackend(plain.address));
const secureSite = await world.site(await world.staticBackend(secure.address, true));
await world.api('PUT', `${plainSite.routePath}/compression`, {});

const toLoopback = ((_name, { all }, done) =>
  all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)) as LookupFunction;

async function open(host: string, protocols: string[] = [], options: ClientOptions = {}): Promise<WebSocket> {
  const client = new WebSocket(`wss://${host}:${world.port}/chat?room=1`, protocols, {
    ca: [...world.ca],
    lookup: toLoopback,
    ...options,
  });
  await once(client, 'open');
  return client;
}

async function message(client: WebSocket): Promise<{ data: Buffer; isBinary: boolean }> {
  const [data, isBinary] = await once(client, 'message');
  return { data, isBinary };
}

for (const [name, { host }, upstream] of [
  ['a plain upstream, with the compression module on', plainSite, plain],
  ['a TLS upstream that offers HTTP/2', secureSite, secure],
] as const) {
  suite(`ws through the edge to ${name}`, () => {
    test('text and binary, both ways', async () => {
      const client = await open(host);
      client.send('gr\u00fc\u00dfe');
      assert.deepEqual(await message(client), { data: Buffer.from('gr\u00fc\u00dfe'), isBinary: false });
      const bytes = randomBytes(3000);
      client.send(bytes);
      assert.deepEqual(await message(client), { data: bytes, isBinary: true });
      client.close();
      await once(client, 'close');
    });

    test('a message in fragments, with a ping between them', async () => {
      const client = await open(host, [], { perMessageDeflate: false });
      client.send('one ', { fin: false });
      client.ping('still there?');
      const [pong] = await once(client, 'pong');
      assert.equal(String(pong), 'still there?');
      client.send('two ', { fin: false });
      client.send('three', { fin: true });
      assert.equal(String((await message(client)).data), 'one two three');
      client.terminate();
    });

    test('the server pings', async () => {
      const client = await open(host);
      const end = upstream.sockets.at(-1) ?? assert.fail();
      end.ping('and you?');
      const [pong] = await once(end, 'pong');
      assert.equal(String(pong), 'and you?');
      client.terminate();
      await once(end, 'close');
    });

    test('a message of 1 MiB, compressed and not', async () => {
      for (const perMessageDeflate of [false, true]) {
        const client = await open(host, [], { perMessageDeflate });
        assert.equal(client.extensions, perMessageDeflate ? 'permessage-deflate' : '');
        for (const bytes of [randomBytes(1 << 20), Buffer.alloc(1 << 20, 'repeat')]) {
          client.send(bytes);
          assert.ok(bytes.equals((await message(client)).data));
        }
        client.terminate();
      }
    });

    test('close codes and reasons, from either side', async () => {
      const first = await open(host);
      const end = upstream.sockets.at(-1) ?? assert.fail();
      const closed = once(end, 'close');
      first.close(4001, 'bye');
      const [code, reason] = await closed;
      assert.deepEqual([code, String(reason)], [4001, 'bye']);
      const second = await open(host);
      const closedHere = once(second, 'close');
      upstream.sockets.at(-1)?.close(1012, 'restart');
      const [codeHere, reasonHere] = await closedHere;
      assert.deepEqual([codeHere, String(reasonHere)], [1012, 'restart']);
    });

    test('a side that goes without a word is noticed by the other', async () => {
      const first = await open(host);
      const end = upstream.sockets.at(-1) ?? assert.fail();
      const closed = once(end, 'close');
      first.terminate();
      assert.equal((await closed)[0], 1006);
      const second = await open(host);
      const closedHere = once(second, 'close');
      upstream.sockets.at(-1)?.terminate();
      assert.equal((await closedHere)[0], 1006);
    });

    test('the subprotocol is the one that the upstream chose', async () => {
      const client = await open(host, ['first', 'second']);
      assert.equal(client.protocol, 'second');
      client.terminate();
    });
  });
}

test('where requests go over HTTP/2, WebSockets go over HTTP/1.1 beside them', async () => {
  const [before, client] = [await world.ask(secureSite.host), await open(secureSite.host)];
  const beside = await world.ask(secureSite.host);
  assert.deepEqual([before.text, beside.text, secure.versions.at(-1)], ['plain', 'plain', '2.0']);
  client.send('still');
  assert.equal(String((await message(client)).data), 'still');
  client.terminate();
});

test('an upstream that speaks nothing but HTTP/2 and announces no WebSockets (RFC 8441) is 502 to them, not silence', async () => {
  const { certificatePem, keyPem } = await authority.issue();
  const server = createSecureServer({ cert: certificatePem, key: keyPem });
  server.on('request', (_request, response) => response.end('only h2'));
  server.on('session', (session) => after(() => session.destroy()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { host } = await world.site(await world.staticBackend(`localhost:${port}`, true));
  assert.equal((await world.ask(host)).text, 'only h2');
  await assert.rejects(open(host), /Unexpected server response: 502/);
  assert.equal((await world.ask(host)).text, 'only h2');
});

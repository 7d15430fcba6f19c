// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { webSocketUpstream } from '../../support/clients/web-socket-upstream.ts';
import { nextWsMessage, openWs } from '../../support/clients/ws-client.ts';
import { wsSuite } from '../../support/clients/ws-suite.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { firstOf } from '../../support/share-of-cases.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';

const authority = await UpstreamAuthority.trusted({ after });
const plain = await webSocketUpstream({ after });
const secure = await webSocketUpstream({ after }, await authority.issue());
const world = await EdgeWorld.open({ after });
const plainSite = await world.site(await world.staticBackend(plain.address));
const secureSite = await world.site(await world.staticBackend(secure.address, true));
await world.api('PUT', `${plainSite.routePath}/compression`, {});

for (const [name, { host }, upstream] of firstOf([
  ['a plain upstream, with the compression module on', plainSite, plain],
  ['a TLS upstream that offers HTTP/2', secureSite, secure],
] as const)) {
  wsSuite({ name: `the edge to ${name}`, edge: world, host, upstream });
}

test('WebSockets use HTTP/1.1 beside requests over HTTP/2', async () => {
  const [before, client] = [await world.ask(secureSite.host), await openWs(world, secureSite.host)];
  const beside = await world.ask(secureSite.host);
  assert.deepEqual([before.text, beside.text, secure.versions.at(-1)], ['plain', 'plain', '2.0']);
  client.send('still');
  assert.equal(String((await nextWsMessage(client)).data), 'still');
  client.terminate();
});

test('an HTTP/2-only upstream without WebSockets (RFC 8441) is 502 for them, not silence', async () => {
  const { certificatePem, keyPem } = await authority.issue();
  const server = createSecureServer({ cert: certificatePem, key: keyPem });
  server.on('request', (_request, response) => response.end('only h2'));
  server.on('session', (session) => after(() => session.destroy()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { host } = await world.site(await world.staticBackend(`localhost:${port}`, true));
  assert.equal((await world.ask(host)).text, 'only h2');
  await assert.rejects(openWs(world, host), /Unexpected server response: 502/);
  assert.equal((await world.ask(host)).text, 'only h2');
});

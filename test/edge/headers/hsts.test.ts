import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, suite, test } from 'node:test';
import { loadConfig } from '../../../src/app/settings/load.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const upstream = await recordingUpstream({ after });
const edges = await EdgeWorld.open(
  { after },
  { POSTERN_HSTS_MAX_AGE: '31536000', POSTERN_HSTS_INCLUDE_SUBDOMAINS: 'true', POSTERN_HSTS_PRELOAD: 'true' },
);
const VALUE = 'max-age=31536000; includeSubDomains; preload';
const NAME = 'strict-transport-security';
const { host } = await edges.site(await edges.staticBackend(upstream.address), 'secure.example.com');

suite('hsts_max_age', () => {
  test('adds the header to forwarded responses, error pages and refused upgrades', async () => {
    assert.equal((await edges.ask(host)).headers[NAME], VALUE);
    const bare = await edges.site(undefined, 'bare.example.com');
    const refused = await edges.ask(bare.host);
    assert.deepEqual([refused.status, refused.headers[NAME]], [503, VALUE]);
    const socket = await edges.connect(bare.host);
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${bare.host}\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
    );
    assert.match(
      String((await once(socket, 'data'))[0]),
      new RegExp(`^HTTP/1.1 503 [\\s\\S]*${NAME}: ${VALUE}\r`, 'i'),
    );
  });

  test('adds it over HTTP/2', async () => {
    for (const name of [host, 'bare2.example.com']) {
      if (name !== host) await edges.site(undefined, name);
      const session = await edges.http2(name);
      const stream = session.request({ ':path': '/' });
      stream.resume();
      const [head] = await once(stream, 'response');
      assert.equal(head[NAME], VALUE, name);
      session.close();
    }
  });

  test("keeps the upstream's own header, and never sends two", async () => {
    upstream.answer = (_request, response) =>
      response.writeHead(200, { 'Strict-Transport-Security': 'max-age=0' }).end();
    assert.equal((await edges.ask(host)).headers[NAME], 'max-age=0');
    upstream.answer = null;
  });

  test('never adds it for localhost, nor over plain HTTP', async () => {
    const local = await edges.site(await edges.httpResponse('here'));
    assert.equal((await edges.ask(local.host)).headers[NAME], undefined);
    const plain = connect(edges.world.server.addresses.edgeHttp?.port ?? 0, '127.0.0.1').setEncoding('latin1');
    plain.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const [answer] = await once(plain, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 308 /);
    assert.doesNotMatch(String(answer), /strict-transport/i);
    plain.destroy();
  });

  test('is off by default', async (t) => {
    const silent = await EdgeWorld.open(t);
    const site = await silent.site(await silent.httpResponse('here'), 'secure.example.com');
    assert.equal((await silent.ask(site.host)).headers[NAME], undefined);
  });

  test('rejects combinations that browsers ignore', () => {
    const load = (env: Readonly<Record<string, string>>) => () => loadConfig({ flags: new Map(), env });
    const year = { POSTERN_HSTS_MAX_AGE: '31536000' };
    const preload = { POSTERN_HSTS_PRELOAD: 'true' };
    const wide = { POSTERN_HSTS_INCLUDE_SUBDOMAINS: 'true' };
    assert.throws(load({ ...year, ...preload }), /hsts_preload requires hsts_include_subdomains/);
    assert.throws(load({ ...preload, ...wide, POSTERN_HSTS_MAX_AGE: '31535999' }), /at least 31536000/);
    assert.throws(load(wide), /hsts_include_subdomains is set without hsts_max_age/);
    assert.doesNotThrow(load({ ...year, ...preload, ...wide }));
  });
});

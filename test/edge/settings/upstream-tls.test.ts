// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { EdgeWorld } from '../../support/edge-world.ts';
import { type Issued, issue } from '../tls/test-authority.ts';
import { UpstreamAuthority } from './upstream-authority.ts';

const authority = await UpstreamAuthority.trusted({ after });
const stranger = await issue({ commonName: 'an unknown CA', isCa: true });
const world = await EdgeWorld.open({ after });

/** Responds with how it was reached. */
async function upstreamWith({ certificatePem: cert, keyPem: key }: Issued, isOld = false): Promise<string> {
  const server = isOld ? createHttpsServer({ cert, key }) : createSecureServer({ cert, key });
  const sockets = new Set<TLSSocket>();
  server.on('secureConnection', (socket: TLSSocket) => sockets.add(socket));
  server.on('request', (request: IncomingMessage | Http2ServerRequest, response: ServerResponse) => {
    const socket = 'stream' in request ? request.stream.session?.socket : request.socket;
    const { servername, alpnProtocol } = socket as TLSSocket;
    response.end(JSON.stringify({ version: request.httpVersion, servername, alpnProtocol }));
  });
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `localhost:${(server.address() as AddressInfo).port}`;
}

suite('an upstream behind TLS', () => {
  test('with a valid certificate is verified and used over HTTP/2', async () => {
    const address = await upstreamWith(await authority.issue());
    const { host } = await world.site(await world.staticBackend(address, true));
    const answer = await world.ask(host);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(JSON.parse(answer.text), { version: '2.0', servername: 'localhost', alpnProtocol: 'h2' });
  });

  test('that supports only HTTP/1.1 is used over that', async () => {
    const address = await upstreamWith(await authority.issue(), true);
    const { host } = await world.site(await world.staticBackend(address, true));
    assert.equal(JSON.parse((await world.ask(host)).text).version, '1.1');
  });

  const bad: readonly (readonly [string, Promise<Issued>, RegExp])[] = [
    ['for another name', authority.issue({ dnsNames: ['elsewhere.test'] }), /does not match certificate's altnames/],
    ['without a name', authority.issue({ dnsNames: [] }), /does not match|altnames|no match/i],
    ['that signs itself', issue({ commonName: 'localhost', dnsNames: ['localhost'] }), /self-signed certificate/],
    ['of an authority that is not trusted', authority.issue({ issuer: stranger }), /unable to (verify|get)/],
    ['that has expired', authority.issue({ fromDays: -30, toDays: -1 }), /certificate has expired/],
    ['that is not valid yet', authority.issue({ fromDays: 1 }), /not yet valid/],
    ['made for clients', authority.issue({ usages: ['client'] }), /unsuitable certificate purpose/],
  ];
  for (const [what, certificate, words] of bad) {
    test(`with a certificate ${what} gets nothing, visitors get 502, the operator the reason`, async () => {
      const address = await upstreamWith(await certificate);
      const { host } = await world.site(await world.staticBackend(address, true));
      for (const accept of ['application/json', 'text/html']) {
        const answer = await world.ask(host, '/', { headers: { accept } });
        assert.equal(answer.status, 502);
        assert.equal(answer.headers['postern-error-code'], 'ERR_POSTERN_UPSTREAM_UNREACHABLE');
        assert.match(answer.text, /The upstream server of this site cannot be reached/);
        assert.doesNotMatch(answer.text, /localhost:\d+/);
      }
      const line = world.world.logLines.findLast(
        (text) => text.includes(`"upstream":"${address}"`) && text.includes('phase'),
      );
      const { phase, reason, message } = JSON.parse(line ?? '{}');
      assert.deepEqual([phase, reason], ['connect', 'tls']);
      assert.match(message, words);
      assert.match(await world.metrics(), /postern_edge_upstream_failures_total\{phase="connect",reason="tls"\} [1-9]/);
    });
  }

  test('without TLS gets nothing', async () => {
    const plain = createServer((_request, response) => response.end('plain'));
    await once(plain.listen(0, '127.0.0.1'), 'listening');
    after(() => new Promise((resolve) => plain.close(resolve)));
    const { port } = plain.address() as AddressInfo;
    const { host } = await world.site(await world.staticBackend(`localhost:${port}`, true));
    const answer = await world.ask(host);
    assert.deepEqual([answer.status, answer.headers['postern-error-code']], [502, 'ERR_POSTERN_UPSTREAM_UNREACHABLE']);
  });
});

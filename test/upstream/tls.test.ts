import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { makeCertificate } from '../conformance/certificates.ts';
import { Answer, ask, assertNothingLeft, type TestUpstreamOptions, upstreamTo } from './ask.ts';
import { backendCertificate, http2Server, httpsServer } from './tls-servers.ts';

after(assertNothingLeft);

async function trusting(servername = 'backend.test'): Promise<TestUpstreamOptions> {
  const { certificatePem } = await backendCertificate();
  return { tls: { servername, ca: certificatePem } };
}

test('HTTP/1.1 behind TLS: connections are kept, a burst gets one each', async () => {
  await using server = await httpsServer((request, response) => {
    response.end(`${request.headers.host} ${(request.socket as TLSSocket).servername}`);
  });
  await using given = upstreamTo(server.port, await trusting());
  const burst = await Promise.all(Array.from({ length: 6 }, () => ask(given.upstream)));
  for (const answer of burst) assert.equal(answer.body, 'app.test backend.test');
  assert.equal(server.accepted(), 6);
  await ask(given.upstream);
  assert.equal(server.accepted(), 6);
  assert.equal(given.upstream.stats().idle, 6);
});

test('rejects a certificate that is untrusted, or for another name, before anything is sent', async () => {
  await using server = await httpsServer((_request, response) => assert.fail(`reached: ${response.statusCode}`));
  const other = await makeCertificate({ commonName: 'other', dnsNames: ['backend.test'] });
  const cases: TestUpstreamOptions[] = [
    { tls: { servername: 'backend.test' } },
    { tls: { servername: 'backend.test', ca: [other.certificatePem] } },
    await trusting('other.test'),
    await trusting('127.0.0.1'),
  ];
  for (const options of cases) {
    await using given = upstreamTo(server.port, options);
    for (let tries = 0; tries < 2; tries += 1) {
      const { failure } = await ask(given.upstream);
      assert.deepEqual([failure?.phase, failure?.reason, failure?.mayHaveBeenSent], ['connect', 'tls', false]);
    }
  }
});

test('abort while the connection is being made, alone and among others', async () => {
  await using server = await http2Server({ allowHTTP1: true });
  server.server.on('request', (_request, response) => response.end('ok'));
  await using given = upstreamTo(server.port, await trusting());
  const answers = [ask(given.upstream), ask(given.upstream)];
  const aborted = new Answer();
  void ask(given.upstream, {}, aborted);
  aborted.exchange?.abort();
  for (const answer of await Promise.all(answers)) assert.equal(answer.body, 'ok');
  assert.deepEqual(aborted.calls, []);
});

test('where HTTP/2 is used, switching and connection authentication still use HTTP/1.1', async () => {
  await using server = await http2Server({ allowHTTP1: true });
  server.server.on('request', (request, response) => response.end(request.httpVersion));
  server.server.on('upgrade', (_request, socket) => {
    socket.write(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\nhello',
    );
  });
  await using given = upstreamTo(server.port, await trusting());
  assert.equal((await ask(given.upstream)).body, '2.0');
  assert.equal((await ask(given.upstream, { headers: ['authorization', 'NTLM abc'] })).body, '1.1');
  // The example of RFC 6455 §1.3.
  const headers = ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='];
  const { switched } = await ask(given.upstream, { switchTo: 'websocket', headers });
  assert.ok(switched);
  const [first] = (await Readable.prototype.take.call(switched, 1).toArray()) as Buffer[];
  assert.equal(first?.toString(), 'hello');
  switched.destroy();
});

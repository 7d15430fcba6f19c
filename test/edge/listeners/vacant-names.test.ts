import assert from 'node:assert/strict';
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, suite, test } from 'node:test';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { issue } from '../tls/test-authority.ts';

const DOMAIN = 'tunnels.example.com';
const world = await TunnelWorld.open({ after }, { POSTERN_DOMAIN: DOMAIN, POSTERN_HSTS_MAX_AGE: '600' });
const { edge } = world;
const service = createServer((_request, response) => response.end('the service'));
await once(service.listen(0, '127.0.0.1'), 'listening');
after(() => service.close());
const addr = (service.address() as AddressInfo).port;
const HTML = { headers: { accept: 'text/html' } };

async function plain(host: string): Promise<string> {
  const port = edge.world.server.addresses.edgeHttp?.port ?? 0;
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\n\r\n`);
  let answer = '';
  for await (const part of socket) answer += part;
  return answer;
}

suite('a name below our domain that nothing serves', () => {
  test('gets a page that says what to do, over a certificate that fits', async () => {
    const host = `mistyped.${DOMAIN}`;
    const answer = await edge.ask(host, '/any/path?x=1', HTML);
    assert.equal(answer.status, 404);
    assert.match(
      answer.text,
      /<h1>Nothing is here<\/h1>\s*<p>Nothing is online at mistyped\.tunnels\.example\.com\.<\/p>/,
    );
    assert.match(answer.text, /its agent is running/);
    assert.equal(answer.headers['postern-error-code'], 'ERR_POSTERN_NOTHING_HERE');
    assert.equal(answer.headers['set-cookie'], undefined);
    assert.equal(answer.headers['connection'], 'close');
    assert.equal(answer.headers['strict-transport-security'], 'max-age=600');
  });

  test('answers programs with JSON, over HTTP/2 too', async () => {
    const session = await edge.http2(`other.${DOMAIN}`);
    const stream = session.request({ ':path': '/', ':method': 'POST', 'content-type': 'text/plain' });
    stream.end('a body that nobody wants');
    const [head] = await once(stream, 'response');
    let text = '';
    for await (const part of stream.setEncoding('utf8')) text += part;
    assert.equal(head[':status'], 404);
    const { error_code: code, msg } = JSON.parse(text);
    assert.equal(code, 'ERR_POSTERN_NOTHING_HERE');
    assert.match(msg, /^Nothing is online at other\.tunnels\.example\.com\. Check the spelling/);
    await once(session, 'close');
  });

  test('gets the same page over plain HTTP', async () => {
    const answer = await plain(`mistyped.${DOMAIN}`);
    assert.match(answer, /^HTTP\/1\.1 404 [\s\S]*Nothing is online at mistyped\.tunnels/);
    assert.doesNotMatch(answer, /strict-transport-security/i);
  });

  test('shares one certificate with all others, whatever a scanner asks for', async () => {
    const serials = new Set<string>();
    for (let count = 0; count < 20; count += 1) {
      const socket = await edge.connect(`scan-${count}.${DOMAIN}`);
      const certificate = socket.getPeerX509Certificate() as X509Certificate;
      assert.equal(certificate.subjectAltName, `DNS:*.${DOMAIN}`);
      serials.add(certificate.serialNumber);
      socket.destroy();
    }
    assert.equal(serials.size, 1);
  });

  test('other unknown names keep the alert', async () => {
    for (const host of [DOMAIN, `a.b.${DOMAIN}`, 'elsewhere.example.org', 'example.com', 'nothing.localhost'])
      await assert.rejects(edge.connect(host), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' }, host);
    assert.match(await plain('elsewhere.example.org'), /ERR_POSTERN_NO_ROUTE/);
  });

  test('looks the same whether it is reserved, was online, or never existed', async () => {
    await edge.api('POST', '/reserved_domains', { name: `reserved.${DOMAIN}` });
    const agent = await world.agent([{ proto: 'https', addr, domain: `was-online.${DOMAIN}` }]);
    assert.equal((await edge.ask(`was-online.${DOMAIN}`)).text, 'the service');
    await agent.close();
    const pages = [];
    for (const label of ['reserved', 'was-online', 'never-existed']) {
      const answer = await edge.ask(`${label}.${DOMAIN}`, '/', HTML);
      const id = String(answer.headers['postern-request-id']);
      pages.push([answer.status, answer.text.replaceAll(id, 'ID').replaceAll(label, 'NAME')]);
    }
    assert.deepEqual(pages[0], pages[2]);
    assert.deepEqual(pages[1], pages[2]);
  });

  test('lets its connection reach a tunnel that comes online, unless that requires a client certificate', async () => {
    const authority = await issue({ commonName: 'CA of clients', isCa: true });
    for (const [label, modules, status] of [
      ['late', {}, 200],
      ['late-and-locked', { mutual_tls: { ca_pems: [authority.certificatePem] } }, 421],
    ] as const) {
      const host = `${label}.${DOMAIN}`;
      const session = await edge.http2(host);
      const socket = await edge.connect(host);
      const agent = await world.agent([{ proto: 'https', addr, domain: host, modules }]);
      const stream = session.request({ ':path': '/' });
      stream.resume();
      const [head] = await once(stream, 'response');
      assert.equal(head[':status'], status);
      socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      const [first] = await once(socket.setEncoding('latin1'), 'data');
      assert.ok(first.startsWith(`HTTP/1.1 ${status} `), first);
      assert.equal(/^connection: close\r$/im.test(first), status === 421);
      if (status === 421) await Promise.all([session.closed || once(session, 'close'), once(socket, 'close')]);
      session.destroy();
      socket.destroy();
      await agent.close();
    }
  });

  test('leaves the answer of an edge without an online tunnel as it is', async () => {
    const { id: backendId } = await edge.api('POST', '/backends/tunnel_group', { labels: { app: 'dead' } });
    const { host } = await edge.site(backendId, `dead.${DOMAIN}`);
    const answer = await edge.ask(host);
    assert.notEqual(answer.status, 404);
    assert.notEqual(answer.headers['postern-error-code'], 'ERR_POSTERN_NOTHING_HERE');
  });

  test('is counted without a series for each name', async () => {
    await edge.ask(`counted.${DOMAIN}`);
    const metrics = await edge.metrics();
    assert.match(metrics, /refused_total\{edge="",route="",module="edge",reason="nothing_here"\} \d+/);
    assert.doesNotMatch(metrics, /counted/);
    const line = edge.world.logLines.findLast((text) => text.includes(`counted.${DOMAIN}`)) ?? '{}';
    assert.equal(JSON.parse(line).status, 404);
  });

  test('uses an uploaded wildcard certificate when there is one', async () => {
    const issuer = await issue({ commonName: 'Some CA', isCa: true });
    const own = await issue({ commonName: 'own', issuer, usages: ['server'], dnsNames: [`*.${DOMAIN}`] });
    await edge.api('POST', '/tls_certificates', {
      certificate_pem: own.certificatePem,
      private_key_pem: own.keyPem,
    });
    const socket = await edge.connect(`mistyped.${DOMAIN}`, { ca: [issuer.certificatePem] });
    assert.equal(socket.authorized, true);
  });
});

import assert from 'node:assert/strict';
import type { ClientHttp2Session } from 'node:http2';
import { after, suite, test } from 'node:test';
import { EdgeWorld, newHost, type Site } from '../../support/edge-world.ts';
import { type Issued, issue } from '../tls/test-authority.ts';
import { rawExchange } from './raw-exchange.ts';
import { recordingUpstream } from './recording-upstream.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2, type WebSocketEnd } from './web-socket.ts';

/** A change that restricts access ends, within a second, the streams that it would now reject, and no others. */
const upstream = await recordingUpstream({ after });
echoingWebSockets(upstream);
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address);
const authority = await issue({ commonName: 'CA of clients', isCa: true });
const second = await issue({ commonName: 'second CA', isCa: true });
const person = await issue({ commonName: 'a person', issuer: authority, usages: ['client'] });
const certificate = { cert: person.certificatePem, key: person.keyPem };

const WITHIN_MS = 1000;

async function socketsOn({ host }: Site, options: object = {}): Promise<readonly WebSocketEnd[]> {
  const overHttp1 = await openWebSocket(await world.connect(host, options), host);
  const overHttp2 = await openWebSocketOverHttp2(await world.http2(host, options), host);
  const ends = [overHttp1, overHttp2];
  for (const end of ends) assert.ok(await end.echoes('before'));
  return ends;
}

async function assertClosed(ends: readonly WebSocketEnd[]): Promise<void> {
  const late = new Promise((_resolve, reject) => setTimeout(() => reject(new Error('still open')), WITHIN_MS).unref());
  await Promise.race([Promise.all(ends.map((end) => end.closed)), late]);
}

async function assertOpen(ends: readonly WebSocketEnd[]): Promise<void> {
  for (const end of ends) {
    const closed = end.closed.then(() => 'closed');
    assert.equal(await Promise.race([end.echoes('after'), closed]), true);
  }
}

async function authorityId(issued: Issued): Promise<string> {
  return (await world.api('POST', '/certificate_authorities', { ca_pem: issued.certificatePem })).id;
}

suite('open WebSockets', () => {
  test('an IP rule ends those of its route, and another route and another host continue', async () => {
    const site = await world.site(backend);
    const beside = await world.site(backend);
    const { policyId } = await world.ipPolicy('allow', '127.0.0.0/8');
    await world.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    const free = await world.route(site.edgeId, '/free');
    await world.api('PUT', `${free}/backend`, { backend_id: backend });
    const ends = await socketsOn(site);
    const others = await socketsOn(beside);
    const onFree = await openWebSocket(await world.connect(site.host), site.host, '/free');
    await world.api('POST', '/ip_policy_rules', { ip_policy_id: policyId, action: 'deny', cidr: '127.0.0.1/32' });
    await assertClosed(ends);
    await assertOpen([...others, onFree]);
  });

  test('changes that reject nobody end nothing', async () => {
    const site = await world.site(backend);
    const ends = await socketsOn(site);
    await world.api('PUT', `${site.routePath}/compression`, {});
    await world.api('PATCH', site.edgePath, { description: 'changed' });
    await world.api('PUT', `${site.edgePath}/tls_termination`, { min_version: '1.2' });
    const { policyId } = await world.ipPolicy('allow', '127.0.0.0/8');
    await world.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    await world.api('PATCH', site.edgePath, { hostports: [`${site.host}:443`, `${newHost()}:443`] });
    await assertOpen(ends);
  });

  test('a route deleted, an edge deleted, login turned on', async () => {
    for (const change of [
      (site: Site) => world.api('DELETE', site.routePath),
      (site: Site) => world.api('DELETE', site.edgePath),
      (site: Site) => world.api('PUT', `${site.routePath}/oidc`, { issuer: 'https://a.example.com', client_id: 'x' }),
      (site: Site) => world.api('PATCH', site.edgePath, { hostports: [`${newHost()}:443`] }),
    ]) {
      const site = await world.site(backend);
      const ends = await socketsOn(site);
      await change(site);
      await assertClosed(ends);
    }
  });

  test('an exact host that takes over from a wildcard ends only those of that host', async () => {
    const wild = await world.site(backend, '*.taken.localhost');
    const taken = await socketsOn({ ...wild, host: 'a.taken.localhost' });
    const kept = await socketsOn({ ...wild, host: 'b.taken.localhost' });
    await world.site(backend, 'a.taken.localhost');
    await assertClosed(taken);
    await assertOpen(kept);
  });

  test('client certificates turned on, and a CA removed', async () => {
    const site = await world.site(backend);
    const ends = await socketsOn(site);
    const [first, other] = [await authorityId(authority), await authorityId(second)];
    const put = (ids: readonly string[]) =>
      world.api('PUT', `${site.edgePath}/mutual_tls`, { certificate_authority_ids: ids });
    await put([first]);
    await assertClosed(ends);
    const admitted = await socketsOn(site, certificate);
    await put([first, other]);
    await assertOpen(admitted);
    await put([first]);
    await assertOpen(admitted);
    await put([other]);
    await assertClosed(admitted);
  });

  test('client certificates turned off end nothing', async () => {
    const site = await world.site(backend);
    await world.api('PUT', `${site.edgePath}/mutual_tls`, {
      certificate_authority_ids: [await authorityId(authority)],
    });
    const admitted = await socketsOn(site, certificate);
    await world.api('DELETE', `${site.edgePath}/mutual_tls`);
    await assertOpen(admitted);
  });

  test('a higher minimum TLS version ends only those below it', async () => {
    const site = await world.site(backend);
    const old = await socketsOn(site, { maxVersion: 'TLSv1.2' });
    const recent = await socketsOn(site);
    await world.api('PUT', `${site.edgePath}/tls_termination`, { min_version: '1.3' });
    await assertClosed(old);
    await assertOpen(recent);
  });
});

suite('open connections', () => {
  type Tightening = { name: string; options?: object; before?: (site: Site) => Promise<unknown>; tighten: typeof ask };
  const ask = async ({ edgePath }: Site, issued: Issued = authority): Promise<unknown> =>
    world.api('PUT', `${edgePath}/mutual_tls`, { certificate_authority_ids: [await authorityId(issued)] });
  const TIGHTENINGS: readonly Tightening[] = [
    { name: 'client certificates turned on', tighten: ask },
    { name: 'the CA of this client removed', options: certificate, before: ask, tighten: (site) => ask(site, second) },
    {
      name: 'a higher lowest TLS version',
      options: { maxVersion: 'TLSv1.2' },
      tighten: ({ edgePath }) => world.api('PUT', `${edgePath}/tls_termination`, { min_version: '1.3' }),
    },
  ];
  for (const { name, options = {}, before, tighten } of TIGHTENINGS)
    test(`${name}: the next request on one that falls short gets 421, and the connection ends`, async () => {
      const site = await world.site(backend);
      await before?.(site);
      const socket = await world.connect(site.host, options);
      const request = `GET / HTTP/1.1\r\nHost: ${site.host}\r\n\r\n`;
      const first = await rawExchange(socket, request, { isEnough: (soFar) => soFar.endsWith('}') });
      assert.deepEqual(first.statuses, [200]);
      const session = await world.http2(site.host, options);
      assert.equal(await http2Status(session), 200);
      const ended = new Promise((resolve) => session.once('close', resolve));
      await tighten(site);
      upstream.forget();
      const answer = await rawExchange(socket, request);
      assert.deepEqual([answer.statuses, answer.isClosed], [[421], true]);
      assert.equal(await http2Status(session), 421);
      await ended;
      assert.deepEqual(upstream.seen, []);
    });

  test('another host over the same connection gets 421, even after the connection was used', async () => {
    const site = await world.site(backend);
    const other = await world.site(backend);
    const session = await world.http2(site.host);
    assert.equal(await http2Status(session), 200);
    assert.equal(await http2Status(session, other.host), 421);
    assert.equal(await http2Status(session), 200);
    session.destroy();
    const socket = await world.connect(site.host);
    upstream.forget();
    const answer = await rawExchange(socket, `GET / HTTP/1.1\r\nHost: ${other.host}\r\nConnection: close\r\n\r\n`);
    assert.deepEqual(answer.statuses, [421]);
    assert.deepEqual(upstream.seen, []);
  });
});

function http2Status(session: ClientHttp2Session, authority?: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/', ...(authority !== undefined && { ':authority': authority }) });
    stream.on('response', (headers) => resolve(headers[':status'])).on('error', reject);
    stream.resume();
  });
}

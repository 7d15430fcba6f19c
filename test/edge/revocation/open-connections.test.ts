import assert from 'node:assert/strict';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { after, suite, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { EdgeWorld, type Site } from '../../support/edge-world.ts';
import { type CrlRequest, crl } from '../../support/test-crl.ts';
import { issue } from '../tls/test-authority.ts';
import { rawExchange } from '../traffic/raw-exchange.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocket, openWebSocketOverHttp2, type WebSocketEnd } from '../traffic/web-socket.ts';
import { presents, VERSIONS } from './revocation-world.ts';

/** A list that arrives ends the streams of the certificates on it within a second, and no others. */
const upstream = await recordingUpstream({ after });
echoingWebSockets(upstream);
upstream.answer = (request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  // A stream that never ends by itself.
  if (request.url === '/stream') response.write('data: 1\n\n');
  else response.end('whole');
};
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address);
const root = await issue({ commonName: 'root', isCa: true });
const intermediate = await issue({ commonName: 'intermediate', issuer: root, isCa: true });
const alice = await issue({ commonName: 'alice', issuer: root, usages: ['client'] });
const bob = await issue({ commonName: 'bob', issuer: root, usages: ['client'] });
const below = await issue({ commonName: 'below', issuer: intermediate, usages: ['client'] });

const WITHIN_MS = 1000;

interface Streams {
  readonly sockets: readonly WebSocketEnd[];
  readonly endings: readonly Promise<unknown>[];
}

async function streamsOf({ host }: Site, options: object): Promise<Streams> {
  const sockets = [
    await openWebSocket(await world.connect(host, options), host),
    await openWebSocketOverHttp2(await world.http2(host, options), host),
  ];
  for (const end of sockets) assert.ok(await end.echoes('before'));
  const events = await world.connect(host, options);
  const started = await rawExchange(events, `GET /stream HTTP/1.1\r\nHost: ${host}\r\n\r\n`, {
    isEnough: (soFar) => soFar.includes('data: 1'),
  });
  assert.deepEqual(started.statuses, [200]);
  const http2 = await http2Stream(await world.http2(host, options));
  return { sockets, endings: [...sockets.map(({ closed }) => closed), closing(events), closing(http2)] };
}

function closing(stream: TLSSocket | ClientHttp2Stream): Promise<unknown> {
  return new Promise((resolve) => {
    stream.once('close', resolve);
  });
}

function http2Stream(session: ClientHttp2Session): Promise<ClientHttp2Stream> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/stream' });
    stream.on('error', reject).once('data', () => resolve(stream));
  });
}

async function assertCut({ endings }: Streams): Promise<void> {
  const late = new Promise((_resolve, reject) => setTimeout(() => reject(new Error('still open')), WITHIN_MS).unref());
  await Promise.race([Promise.all(endings), late]);
}

async function assertOpen({ sockets, endings }: Streams): Promise<void> {
  for (const end of sockets) assert.equal(await end.echoes('after'), true);
  assert.equal(await Promise.race([Promise.any(endings).then(() => 'cut'), Promise.resolve('open')]), 'open');
}

async function guarded(fields: object): Promise<{ site: Site; id: string }> {
  const site = await world.site(backend);
  const { id } = await world.api('POST', '/certificate_authorities', { ca_pem: root.certificatePem, ...fields });
  await world.api('PUT', `${site.edgePath}/mutual_tls`, { certificate_authority_ids: [id] });
  return { site, id };
}

const patch = (id: string, fields: object): Promise<unknown> =>
  world.api('PATCH', `/certificate_authorities/${id}`, fields);

const pem = async (...lists: readonly CrlRequest[]): Promise<string> =>
  (await Promise.all(lists.map(crl))).map((list) => list.pem).join('');

suite('streams that are open when a list arrives', () => {
  for (const maxVersion of VERSIONS) {
    test(`over ${maxVersion}: those of a revoked certificate end, others continue`, async () => {
      const { site, id } = await guarded({ crl_pem: await pem({ issuer: root }), crl_mode: 'hard' });
      const revoked = await streamsOf(site, { ...presents(alice), maxVersion });
      const kept = await streamsOf(site, { ...presents(bob), maxVersion });
      await patch(id, { crl_pem: await pem({ issuer: root, number: 2, revoked: [alice] }) });
      await assertCut(revoked);
      await assertOpen(kept);
    });
  }

  test('turning the check on ends only those of revoked certificates', async () => {
    const list = await pem({ issuer: root, revoked: [alice] });
    const { site, id } = await guarded({ crl_pem: list });
    const revoked = await streamsOf(site, presents(alice));
    const kept = await streamsOf(site, presents(bob));
    await patch(id, { crl_mode: 'soft' });
    await assertCut(revoked);
    await patch(id, { crl_mode: 'hard' });
    await patch(id, { crl_mode: 'off' });
    await assertOpen(kept);
  });

  test('a revoked intermediate ends those of the certificates that it issued', async () => {
    const lists = (revoked: CrlRequest['revoked'] = []): Promise<string> =>
      pem({ issuer: root, revoked }, { issuer: intermediate });
    const { site, id } = await guarded({ crl_pem: await lists(), crl_mode: 'hard' });
    const revoked = await streamsOf(site, presents(below, intermediate));
    const kept = await streamsOf(site, presents(alice));
    await patch(id, { crl_pem: await lists([intermediate]) });
    await assertCut(revoked);
    await assertOpen(kept);
  });

  test('hard without the list of an intermediate ends those below it', async () => {
    const { site, id } = await guarded({ crl_pem: await pem({ issuer: root }), crl_mode: 'soft' });
    const through = await streamsOf(site, presents(below, intermediate));
    const direct = await streamsOf(site, presents(alice));
    await patch(id, { crl_mode: 'hard' });
    await assertCut(through);
    await assertOpen(direct);
  });

  test('a list that becomes stale ends them with hard and not with soft', async () => {
    const short = await pem({ issuer: root, toMs: 4000 });
    const strict = await guarded({ crl_pem: short, crl_mode: 'hard' });
    const lenient = await guarded({ crl_pem: short, crl_mode: 'soft' });
    const ending = await streamsOf(strict.site, presents(alice));
    const kept = await streamsOf(lenient.site, presents(alice));
    await Promise.all(ending.endings);
    const { crl_status: status } = await world.api('GET', `/certificate_authorities/${lenient.id}`);
    assert.equal(status, 'stale');
    await assertOpen(kept);
  });
});

suite('connections that are open when a list arrives', () => {
  for (const maxVersion of VERSIONS) {
    test(`over ${maxVersion}: the next request gets 421, and the connection ends`, async () => {
      const { site, id } = await guarded({ crl_pem: await pem({ issuer: root }), crl_mode: 'hard' });
      const options = { ...presents(alice), maxVersion };
      const socket = await world.connect(site.host, options);
      const request = `GET / HTTP/1.1\r\nHost: ${site.host}\r\n\r\n`;
      const first = await rawExchange(socket, request, { isEnough: (soFar) => soFar.includes('whole') });
      assert.deepEqual(first.statuses, [200]);
      const session = await world.http2(site.host, options);
      assert.equal(await http2Status(session), 200);
      const ended = new Promise((resolve) => session.once('close', resolve));
      await patch(id, { crl_pem: await pem({ issuer: root, number: 2, revoked: [alice] }) });
      upstream.forget();
      const answer = await rawExchange(socket, request);
      assert.deepEqual([answer.statuses, answer.isClosed], [[421], true]);
      assert.equal(await http2Status(session), 421);
      await ended;
      assert.deepEqual(upstream.seen, []);
    });

    test(`over ${maxVersion}: no session resumes past the list`, async () => {
      const { site, id } = await guarded({ crl_pem: await pem({ issuer: root }), crl_mode: 'hard' });
      const options = { ...presents(alice), maxVersion };
      const socket = await world.connect(site.host, options);
      const sessions: Buffer[] = [];
      socket.on('session', (session: Buffer) => sessions.push(session));
      const request = `GET / HTTP/1.1\r\nHost: ${site.host}\r\nConnection: close\r\n\r\n`;
      assert.deepEqual((await rawExchange(socket, request)).statuses, [200]);
      await patch(id, { crl_pem: await pem({ issuer: root, number: 2, revoked: [alice] }) });
      for (const session of [...sessions, socket.getSession()]) {
        const again = await world.connect(site.host, { ...options, ...(session && { session }) }).catch(() => null);
        if (again === null) continue;
        assert.equal(again.isSessionReused(), false);
        assert.equal((await rawExchange(again, request)).bytes, '');
      }
    });
  }
});

function http2Status(session: ClientHttp2Session): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': '/' });
    stream.on('response', (headers) => resolve(headers[':status'])).on('error', reject);
    stream.resume();
  });
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { after, suite, type TestContext, test } from 'node:test';
import type { EndpointModules } from '../../../src/tunnel/protocol/messages.ts';
import { newHost, type Site } from '../../support/edge-world.ts';
import { type Issued, issue } from '../tls/test-authority.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { echoingWebSockets, openWebSocketOverHttp2 } from '../traffic/web-socket.ts';
import { dial, TunnelWorld } from './tunnel-world.ts';

/** A name goes away, or moves to another edge or tunnel, while visitors keep their connections to it. */
const upstream = await recordingUpstream({ after });
echoingWebSockets(upstream);
const world = await TunnelWorld.open({ after });
const { clients } = world;
const backend = await clients.staticBackend(upstream.address);
const authority = await issue({ commonName: 'CA of clients', isCa: true });
const second = await issue({ commonName: 'second CA', isCa: true });
const person = await issue({ commonName: 'a person', issuer: authority, usages: ['client'] });
const certificate = { cert: person.certificatePem, key: person.keyPem };

interface Answer {
  readonly status: number;
  /** The server said that it accepts no other request here. */
  readonly ends: boolean;
}

/** A kept connection to a host. */
interface Kept {
  ask(authority?: string): Promise<Answer>;
}

async function keptHttp1(socket: Socket, host: string): Promise<Kept> {
  const ask = async (authority = host): Promise<Answer> => {
    let received = '';
    const onData = (chunk: Buffer): void => {
      received += chunk.toString('latin1');
    };
    socket.on('data', onData).write(`GET / HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
    while (!isWhole(received)) await once(socket, 'data');
    socket.off('data', onData);
    const ends = /^connection: close\r$/im.test(received);
    if (ends && !socket.closed) await once(socket, 'close');
    return { status: Number(received.slice(9, 12)), ends };
  };
  return { ask };
}

function isWhole(received: string): boolean {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return false;
  if (/^transfer-encoding: chunked\r$/im.test(received)) return received.endsWith('0\r\n\r\n');
  return received.length >= end + 4 + Number(/^content-length: (\d+)\r$/im.exec(received)?.[1] ?? 0);
}

function keptHttp2(session: ClientHttp2Session, host: string): Kept {
  let ends = false;
  session.once('goaway', () => {
    ends = true;
  });
  const ask = async (authority = host): Promise<Answer> => {
    const stream = session.request({ ':path': '/', ':authority': authority });
    const [headers] = await once(stream, 'response');
    stream.resume();
    await once(stream, 'close');
    // GOAWAY comes before or with the response.
    await new Promise((resolve) => session.ping(resolve));
    return { status: Number(headers[':status']), ends };
  };
  return { ask };
}

async function keep(host: string, options: object = {}): Promise<readonly Kept[]> {
  return [
    await keptHttp1(await clients.connect(host, options), host),
    keptHttp2(await clients.http2(host, options), host),
  ];
}

async function expect(kept: readonly Kept[], status: number, ends = false, authority?: string): Promise<void> {
  for (const [at, connection] of kept.entries())
    assert.deepEqual(await connection.ask(authority), { status, ends }, `HTTP/${at + 1}`);
}

const SERVED = 200;
const MISDIRECTED = 421;

async function mutualTls({ edgePath }: Site, issued: Issued): Promise<void> {
  const { id } = await clients.api('POST', '/certificate_authorities', { ca_pem: issued.certificatePem });
  await clients.api('PUT', `${edgePath}/mutual_tls`, { certificate_authority_ids: [id] });
}

async function publish(context: TestContext, host: string, proto: 'https' | 'http' | 'tls', modules = {}) {
  const { id } = await world.tunnel(context);
  const published = await world.publish(id, { host, proto, modules: modules as EndpointModules });
  assert.ok(published.ok, JSON.stringify(published));
  return () => world.edge.endpoints.withdraw(published.id);
}

suite('a kept connection is served again', () => {
  test('after its edge was deleted and created again', async () => {
    const site = await clients.site(backend);
    const kept = await keep(site.host);
    await expect(kept, SERVED);
    await clients.api('DELETE', site.edgePath);
    await clients.site(backend, site.host);
    for (let count = 0; count < 3; count += 1) await expect(kept, SERVED);
  });

  test('after its agent was restarted', async (context) => {
    const host = newHost();
    const withdraw = await publish(context, host, 'https');
    const kept = await keep(host);
    await expect(kept, SERVED);
    withdraw();
    await publish(context, host, 'https');
    for (let count = 0; count < 3; count += 1) await expect(kept, SERVED);
  });

  test('when the name moves between tunnel, wildcard and edge', async (context) => {
    const host = 'moves.wild.localhost';
    await clients.site(backend, '*.wild.localhost');
    const kept = await keep(host);
    await expect(kept, SERVED);
    const withdraw = await publish(context, host, 'https');
    await expect(kept, SERVED);
    const { edgePath } = await clients.site(await clients.httpResponse('exact'), host);
    await expect(kept, SERVED);
    await clients.api('DELETE', edgePath);
    await expect(kept, SERVED);
    withdraw();
    await expect(kept, SERVED);
  });

  test('for the other names of a wildcard that was created again, and for no foreign one', async () => {
    const other = await clients.site(backend);
    const site = await clients.site(backend, '*.again.localhost');
    const kept = await keep('a.again.localhost');
    await expect(kept, SERVED, false, 'b.again.localhost');
    await clients.api('DELETE', site.edgePath);
    await clients.site(backend, '*.again.localhost');
    await expect(kept, SERVED, false, 'b.again.localhost');
    await expect(kept, MISDIRECTED, false, other.host);
    await expect(kept, SERVED);
  });

  test('over plain HTTP', async (context) => {
    const host = newHost();
    const withdraw = await publish(context, host, 'http');
    const kept = [await keptHttp1(await dial(context, world.httpPort), host)];
    await expect(kept, SERVED);
    withdraw();
    await publish(context, host, 'http');
    await expect(kept, SERVED);
  });
});

suite('a kept connection that does not suffice gets one answer, and closes', () => {
  test('while nothing serves its name', async (context) => {
    const site = await clients.site(backend);
    const ofEdge = await keep(site.host);
    await expect(ofEdge, SERVED);
    await clients.api('DELETE', site.edgePath);
    await expect(ofEdge, MISDIRECTED, true);
    const host = newHost();
    const withdraw = await publish(context, host, 'https');
    const ofTunnel = await keep(host);
    await expect(ofTunnel, SERVED);
    withdraw();
    await expect(ofTunnel, MISDIRECTED, true);
  });

  test('when the edge that returns requires client certificates', async () => {
    const site = await clients.site(backend);
    const kept = await keep(site.host);
    await expect(kept, SERVED);
    await clients.api('DELETE', site.edgePath);
    await mutualTls(await clients.site(backend, site.host), authority);
    upstream.forget();
    await expect(kept, MISDIRECTED, true);
    assert.deepEqual(upstream.seen, []);
  });

  test('when the tunnel that returns requires client certificates', async (context) => {
    const host = newHost();
    const withdraw = await publish(context, host, 'https');
    const kept = await keep(host);
    withdraw();
    await publish(context, host, 'https', { mutual_tls: { ca_pems: [authority.certificatePem] } });
    await expect(kept, MISDIRECTED, true);
    await expect(await keep(host, certificate), SERVED);
  });

  test('when its certificate is of a CA that the new edge does not trust, and only then', async () => {
    const before = await clients.site(backend);
    await mutualTls(before, authority);
    const kept = await keep(before.host, certificate);
    await expect(kept, SERVED);
    await clients.api('DELETE', before.edgePath);
    const same = await clients.site(backend, before.host);
    await mutualTls(same, authority);
    await expect(kept, SERVED);
    await clients.api('DELETE', same.edgePath);
    const open = await clients.site(backend, before.host);
    await expect(kept, SERVED);
    await clients.api('DELETE', open.edgePath);
    await mutualTls(await clients.site(backend, before.host), second);
    await expect(kept, MISDIRECTED, true);
  });

  test('when the new edge requires a higher TLS version, and only then', async () => {
    const before = await clients.site(backend);
    const [old, recent] = [await keep(before.host, { maxVersion: 'TLSv1.2' }), await keep(before.host)];
    await clients.api('DELETE', before.edgePath);
    const { edgePath } = await clients.site(backend, before.host);
    await clients.api('PUT', `${edgePath}/tls_termination`, { min_version: '1.3' });
    await expect(old, MISDIRECTED, true);
    await expect(recent, SERVED);
  });

  test('when a tls tunnel takes its name from a wildcard, which ends open WebSockets too', async (context) => {
    const host = 'a.sealed.localhost';
    await clients.site(backend, '*.sealed.localhost');
    const kept = await keep(host);
    const webSocket = await openWebSocketOverHttp2(await clients.http2(host), host);
    const withdraw = await publish(context, host, 'tls');
    await webSocket.closed;
    await expect(kept, MISDIRECTED, true);
    withdraw();
    await expect(await keep(host), SERVED);
  });
});

test('a WebSocket on a connection whose name returned ends with the new edge', async () => {
  const site = await clients.site(backend);
  const session = await clients.http2(site.host);
  await clients.api('DELETE', site.edgePath);
  const { edgePath } = await clients.site(backend, site.host);
  const webSocket = await openWebSocketOverHttp2(session, site.host);
  assert.ok(await webSocket.echoes('before'));
  await clients.api('DELETE', edgePath);
  await webSocket.closed;
});

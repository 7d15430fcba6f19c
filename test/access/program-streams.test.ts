import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import type { Site } from '../support/edge-world.ts';
import { MovableClock } from '../support/login-world.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { CiIssuer } from './ci-issuer.ts';
import { bearer } from './programs-world.ts';

/** Responds with one chunk, and never ends. */
const upstream = createServer((_request, response) => response.write('first'));
new WebSocketServer({ server: upstream }).on('connection', (socket) => socket.send('first'));
await new Promise<void>((resolve) => {
  upstream.listen(0, '127.0.0.1', resolve);
});
after(() => {
  upstream.closeAllConnections();
  upstream.close();
});
const port = (upstream.address() as AddressInfo).port;

const clock = new MovableClock();
const tunnels = await TunnelWorld.open({ after }, {}, { clock });
const { edge } = tunnels;
const ci = await CiIssuer.open({ after });
const direct = await edge.staticBackend(`127.0.0.1:${port}`);
await tunnels.agent([{ labels: { app: 'streams' }, addr: `127.0.0.1:${port}` }]);
const tunnelled = (await edge.api('POST', '/backends/tunnel_group', { labels: { app: 'streams' } })).id as string;

interface Stream {
  /** Resolves when the edge cuts it. */
  readonly ended: Promise<unknown>;
}

type Open = (site: Site, token: string) => Promise<Stream | { readonly status: number }>;

const CLIENTS: Readonly<Record<string, { readonly backendId: string; readonly open: Open }>> = {
  'HTTP/2': { backendId: direct, open: http2Stream },
  WebSocket: { backendId: direct, open: webSocket },
  'WebSocket through a tunnel': { backendId: tunnelled, open: webSocket },
  'HTTP/1.1 through a tunnel': { backendId: tunnelled, open: http1Stream },
};

interface Under {
  readonly site: Site;
  readonly accountId: string;
  readonly tokenPath: string;
}

const ENDS: Readonly<Record<string, (under: Under) => Promise<unknown>>> = {
  'its token is deleted': ({ tokenPath }) => edge.api('DELETE', tokenPath),
  'its token expires': ({ tokenPath }) =>
    edge.api('PATCH', tokenPath, { expires_at: new Date(Date.now() + 300).toISOString() }),
  'its account is deactivated': ({ accountId }) =>
    edge.api('PATCH', `/service_accounts/${accountId}`, { active: false }),
  'its account is no longer named': ({ site }) =>
    edge.api('PUT', `${site.routePath}/access`, { allow: [{ guests: true }] }),
  'its account is denied': ({ site, accountId }) => {
    const rules = [{ service_accounts: [accountId] }];
    return edge.api('PUT', `${site.routePath}/access`, { allow: rules, deny: rules });
  },
};

for (const [name, { backendId, open }] of Object.entries(CLIENTS)) {
  suite(`a stream of a service account over ${name}`, () => {
    for (const [why, end] of Object.entries(ENDS)) {
      test(`is cut when ${why}`, async () => {
        const { site, token, ...under } = await program(backendId);
        const stream = await open(site, token);
        assert.ok('ended' in stream, 'it was admitted');
        // Another change, which does not concern it.
        await edge.api('PATCH', under.tokenPath, { description: 'still valid' });
        await end({ site, ...under });
        await stream.ended;
        const refused = await open(site, token);
        assert.ok('status' in refused && [401, 403].includes(refused.status), JSON.stringify(refused));
      });
    }

    test('does not start with an unknown token', async () => {
      const { site } = await program(backendId);
      assert.deepEqual(await open(site, `pst_${'x'.repeat(43)}`), { status: 401 });
    });
  });
}

suite('a stream of a workload', () => {
  test('is cut when its token expires, and not by a change that does not concern it', async () => {
    const { id, site } = await edge.site(direct).then((made) => ({ id: made.routePath, site: made }));
    const entry = { issuer: ci.issuer, audiences: ['postern'], claims: { repository: ['acme/app'] } };
    await edge.api('PUT', `${id}/access`, { bearer: [entry] });
    const token = await ci.token();
    const stream = await webSocket(site, token);
    assert.ok('ended' in stream);
    let isEnded = false;
    void stream.ended.then(() => {
      isEnded = true;
    });
    await edge.api('PUT', `${id}/access`, { bearer: [entry, { ...entry, audiences: ['other'] }] });
    assert.equal(isEnded, false);
    clock.advance(400);
    await stream.ended;
    clock.reset();
  });
});

async function program(backendId: string) {
  const site = await edge.site(backendId);
  const account = await edge.api('POST', '/service_accounts', { name: 'streams' });
  const made = await edge.api('POST', '/service_account_tokens', { service_account_id: account.id });
  await edge.api('PUT', `${site.routePath}/access`, { allow: [{ service_accounts: [account.id] }] });
  const tokenPath = `/service_account_tokens/${made.id}`;
  return { site, accountId: account.id as string, token: made.token as string, tokenPath };
}

async function webSocket(site: Site, token: string): ReturnType<Open> {
  const socket = new WebSocket(`wss://127.0.0.1:${edge.port}/`, {
    servername: site.host,
    rejectUnauthorized: false,
    headers: { host: site.host, ...bearer(token) },
  } as never);
  const ended = once(socket, 'close');
  socket.on('error', () => {});
  return new Promise((resolve) => {
    socket.once('unexpected-response', (_request, response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0 });
    });
    socket.once('message', () => resolve({ ended }));
  });
}

async function http2Stream(site: Site, token: string): ReturnType<Open> {
  const session = await edge.http2(site.host, { rejectUnauthorized: false });
  const stream = session.request({ ':path': '/', ...bearer(token) });
  const ended = new Promise((resolve) => {
    stream.once('close', resolve);
  });
  stream.on('error', () => {});
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
  if (headers[':status'] !== 200) return { status: headers[':status'] };
  await once(stream, 'data');
  return { ended };
}

async function http1Stream(site: Site, token: string): ReturnType<Open> {
  const socket = await edge.connect(site.host, { rejectUnauthorized: false });
  const ended = once(socket, 'close');
  socket.write(`GET / HTTP/1.1\r\nHost: ${site.host}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  let text = '';
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    text += chunk.toString();
    const status = Number(text.slice(9, 12));
    if (status !== 200) return { status };
    if (text.includes('first')) return { ended };
  }
}

import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { test } from 'node:test';
import { type PosternProcess, startServerProcess } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const KEY = 'test-api-key-0123456789abcdefghij';
const HOST = 'killed.localhost';

test('a redemption that was answered survives kill -9, and the link stays spent', async (t) => {
  const dataDir = await tempDir(t);
  const options = { env: { POSTERN_API_KEY: KEY } };
  const first = startServerProcess(t, dataDir, options);
  const { secret } = await invite(first);
  const redeemed = await redeem(first, secret, (response) => {
    if (response.statusCode === 303) first.child.kill('SIGKILL');
  });
  assert.equal(redeemed.status, 303);
  await first.exited;

  const second = startServerProcess(t, dataDir, options);
  const cookie = (redeemed.headers['set-cookie'] ?? []).map((each) => each.split(';')[0]).join('; ');
  assert.equal((await ask(second, '/', { headers: { cookie } })).status, 200);
  assert.equal((await redeem(second, secret)).status, 410);
});

async function invite(server: PosternProcess): Promise<{ readonly secret: string }> {
  const { base_url: url } = await server.ready();
  // biome-ignore lint/suspicious/noExplicitAny: looked into field by field
  const create = async (method: string, path: string, body: object): Promise<any> => {
    const headers = { authorization: `Bearer ${KEY}`, 'service-version': '2', 'content-type': 'application/json' };
    const answer = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
    assert.ok(answer.ok, await answer.clone().text());
    return answer.json();
  };
  const { id: backend } = await create('POST', '/backends/http_response', { body: 'ok' });
  const { id: edge } = await create('POST', '/edges/https', { hostports: [`${HOST}:443`] });
  const { id: route } = await create('POST', `/edges/https/${edge}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { backend_id: backend },
    access: { allow: [{ guests: true }] },
  });
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  const link = await create('POST', '/guest_links', { edge_id: edge, route_id: route, expires_at: expiresAt });
  return { secret: new URL(link.url).searchParams.get('link') as string };
}

function redeem(server: PosternProcess, secret: string, onHead?: (response: IncomingMessage) => void) {
  const headers = { 'sec-fetch-site': 'same-origin', origin: 'null' };
  return ask(server, '/.postern/guest', { method: 'POST', headers, body: `link=${secret}` }, onHead);
}

async function ask(
  server: PosternProcess,
  path: string,
  { body, ...options }: { method?: string; headers?: Record<string, string>; body?: string },
  onHead: (response: IncomingMessage) => void = () => {},
): Promise<{ readonly status: number; readonly headers: IncomingHttpHeaders }> {
  const { addresses } = await server.ready();
  const address = (addresses as unknown as { readonly edge: string }).edge;
  const port = Number(address.slice(address.lastIndexOf(':') + 1));
  return new Promise((resolve, reject) => {
    const sent = requestHttps(
      { host: '127.0.0.1', port, path, servername: HOST, rejectUnauthorized: false, agent: false, ...options },
      (response) => {
        onHead(response);
        response.resume();
        resolve({ status: response.statusCode ?? 0, headers: response.headers });
      },
    );
    sent.setHeader('host', HOST);
    sent.on('error', reject);
    sent.end(body);
  });
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { dial, TunnelWorld } from './tunnel-world.ts';

const world = await TunnelWorld.open({ after });

async function expect(hostname: string, type: string): Promise<void> {
  const doc = {
    hostname,
    type,
    token: 'token',
    key_authorization: 'token.thumbprint',
    expires_at: new Date(Date.now() + 60_000).toISOString(),
  };
  const id = `ch_${type}_${hostname}`;
  const put = { kind: 'acme_challenge', id, parent: null, doc, secrets: null, uniqueKeys: [], references: [] };
  assert.ok((await world.clients.world.store.commit({ puts: [put] })).ok);
}

test('tls-alpn-01 is answered before a tls tunnel, whose agent sees no connection', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host } = await world.publish(id, { proto: 'tls' });
  await expect(host, 'tls-alpn-01');
  const options = { ...world.clients.tlsOptions(host), rejectUnauthorized: false };
  const validator = connectTls({ ...options, ALPNProtocols: ['acme-tls/1'] });
  validator.resume();
  await once(validator, 'secureConnect');
  assert.equal(validator.alpnProtocol, 'acme-tls/1');
  await once(validator, 'close');
  assert.equal(agent.seen.length, 0);
  agent.handle = (stream, headers) => {
    agent.seen.push({ headers, body: '' });
    stream.respond({ ':status': 200 });
    stream.end();
  };
  const visitor = connectTls({ ...options, ALPNProtocols: ['acme-tls/1', 'x'] });
  visitor.on('error', () => {});
  await new Promise((resolve) => visitor.once('close', resolve));
  assert.equal(agent.seen.length, 1, 'another list of protocols goes to the agent');
});

test('http-01 is answered before a plain http tunnel, other paths reach the agent', async (context) => {
  const { id, agent } = await world.tunnel(context);
  const { host } = await world.publish(id, { proto: 'http' });
  await expect(host, 'http-01');
  const ask = async (path: string): Promise<string> => {
    const socket = (await dial(context, world.httpPort)).setEncoding('latin1');
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer;
  };
  assert.match(await ask('/.well-known/acme-challenge/token'), /\r\n\r\ntoken\.thumbprint$/);
  assert.equal(agent.seen.length, 0);
  await ask('/.well-known/acme-challenge/other');
  assert.equal(agent.seen.length, 1);
});

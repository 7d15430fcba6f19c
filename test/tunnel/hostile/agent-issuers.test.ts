import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, suite, test } from 'node:test';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { RawAgent } from '../support/raw-agent.ts';

const world = await TunnelWorld.open(
  { after },
  { POSTERN_ROLES: 'api,edge,gateway,events', POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8' },
);

const asked: string[] = [];
/** A service on the server's machine that agents must not reach. It responds to everything with JSON. */
const inside = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"secret":"of the inside"}');
}).listen(0, '127.0.0.1');
await once(inside, 'listening');
after(() => inside.close());
const insidePort = (inside.address() as AddressInfo).port;

async function agentWith(...acl: readonly string[]): Promise<RawAgent> {
  const { token } = await world.edge.api('POST', '/credentials', { acl });
  return RawAgent.greeted(world, { token });
}

const oidc = (issuer: string) => ({ issuer, client_id: 'c', client_secret: 's', scopes: ['email'] });

suite('issuers named by agents', () => {
  test('rejects loopback, private, link-local and unspecified issuers when the tunnel is bound', async () => {
    const agent = await agentWith();
    const issuers = [
      `http://127.0.0.1:${insidePort}`,
      `https://127.0.0.1:${insidePort}`,
      `http://localhost:${insidePort}`,
      `https://a.localhost:${insidePort}/x`,
      `https://2130706433:${insidePort}`,
      `https://0x7f.1:${insidePort}`,
      `https://0.0.0.0:${insidePort}`,
      `https://[::]:${insidePort}`,
      `https://[::1]:${insidePort}`,
      `https://[::ffff:127.0.0.1]:${insidePort}`,
      `https://[64:ff9b::7f00:1]:${insidePort}`,
      `https://[64:ff9b:1::7f00:1]:${insidePort}`,
      `https://[fe80::1]:${insidePort}`,
      'https://10.0.0.1',
      'https://192.168.0.1',
      'https://169.254.169.254',
      'https://100.64.0.1',
      'https://[fd00::1]',
    ];
    for (const [ref, issuer] of issuers.entries()) {
      const answer = await agent.bind({ ref, proto: 'https', modules: { oidc: oidc(issuer) } });
      assert.equal(answer.t, 'unbound', issuer);
      const { code, message, retry } = answer as Extract<typeof answer, { t: 'unbound' }>;
      assert.deepEqual([code, retry], ['ERR_POSTERN_TUNNEL_INVALID', false]);
      assert.match(message, /^oidc: issuer must (be https|have a public address)/);
      assert.match(message, /agent_issuer_allow_cidrs/);
    }
    agent.destroy();
    assert.deepEqual(asked, []);
  });

  test('rejects plain http to a public address', async () => {
    const agent = await agentWith();
    const answer = await agent.bind({ ref: 0, proto: 'https', modules: { oidc: oidc('http://1.1.1.1') } });
    assert.equal(answer.t, 'unbound');
    assert.match(JSON.stringify(answer), /must be https/);
    agent.destroy();
  });

  test('lets an agent name a public issuer', async () => {
    const agent = await agentWith();
    const modules = { oidc: oidc('https://accounts.example.com') };
    assert.equal((await agent.bind({ ref: 0, proto: 'https', modules })).t, 'bound');
    agent.destroy();
  });
});

suite('ports of tcp tunnels are our own addresses', () => {
  test('does not dial a static backend at the port of a tunnel', async () => {
    const agent = await world.agent([{ proto: 'tcp', addr: `127.0.0.1:${insidePort}` }]);
    const { host: address } = new URL((agent.publicUrl ?? '').replace('tcp:', 'http:'));
    const site = await world.edge.site(await world.edge.staticBackend(address));
    asked.length = 0;
    assert.equal(await world.edge.status(site.host), 502);
    assert.deepEqual(asked, []);
    await agent.close();
  });

  test("does not contact an operator's issuer at the port of a tunnel", async () => {
    const agent = await world.agent([{ proto: 'tcp', addr: `127.0.0.1:${insidePort}` }]);
    const issuer = (agent.publicUrl ?? '').replace('tcp:', 'http:');
    const site = await world.edge.site(await world.edge.staticBackend('127.0.0.1:9'));
    await world.edge.api('PUT', `${site.routePath}/oidc`, oidc(issuer));
    asked.length = 0;
    const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };
    let answer = await world.edge.ask(site.host, '/', { headers: navigation });
    for (let step = 0; step < 3 && answer.status < 400; step += 1) {
      const link = /<a class="button" id="go" href="([^"]+)"/.exec(answer.text)?.[1]?.replaceAll('&amp;', '&');
      const next = link ?? String(answer.headers['location']);
      answer = await world.edge.ask(site.host, next, { headers: navigation });
    }
    assert.ok(answer.status >= 400, `${answer.status}`);
    assert.ok(world.edge.world.logLines.some((line) => line.includes('"reason":"address_refused"')));
    assert.deepEqual(asked, []);
    await agent.close();
  });

  test('sends no webhook to the port of a tunnel or to the API, whatever ranges are allowed', async () => {
    const agent = await world.agent([{ proto: 'tcp', addr: `127.0.0.1:${insidePort}` }]);
    asked.length = 0;
    const address = (agent.publicUrl ?? '').replace('tcp://', '');
    for (const url of [`http://${address}/hook`, `${world.edge.world.baseUrl}/hook`]) {
      const { id } = await world.edge.api('POST', '/event_destinations', {
        format: 'json',
        target: { webhook: { url } },
      });
      const { body } = await world.edge.world.api('POST', `/event_destinations/${id}/test`, {});
      assert.match(JSON.stringify(body), /connections to the address \S+ are not allowed/);
    }
    assert.deepEqual(asked, []);
    await agent.close();
  });
});

suite('permission to configure modules', () => {
  test('an acl without configure rules allows every module, one with such rules only those', async () => {
    const modules = { compression: {}, ip_restriction: { allow: ['127.0.0.0/8'], deny: [] } };
    for (const acl of [[], ['bind:*'], ['configure:*'], ['configure:compression', 'configure:ip_restriction']]) {
      const agent = await agentWith(...acl);
      const answer = await agent.bind({ ref: 0, proto: 'https', modules });
      assert.equal(answer.t, 'bound', JSON.stringify([acl, answer]));
      agent.destroy();
    }
    const agent = await agentWith('configure:compression');
    const answer = await agent.bind({ ref: 0, proto: 'https', modules });
    assert.equal(answer.t, 'unbound');
    const { code, message, retry } = answer as Extract<typeof answer, { t: 'unbound' }>;
    assert.deepEqual([code, retry], ['ERR_POSTERN_TUNNEL_ACL', false]);
    assert.match(message, /ip_restriction.*"configure:ip_restriction"/);
    assert.equal((await agent.bind({ ref: 1, proto: 'https', modules: { compression: {} } })).t, 'bound');
    agent.destroy();
  });

  test('configure rules do not grant bind, and bind rules do not grant configure', async () => {
    const agent = await agentWith('configure:oidc');
    assert.equal((await agent.bind({ ref: 0, proto: 'tcp' })).t, 'bound');
    assert.equal((await agent.bind({ ref: 1, labels: { app: 'x' } })).t, 'bound');
    agent.destroy();
    const bound = await agentWith('bind:mine.localhost', 'configure:*');
    assert.equal((await bound.bind({ ref: 0, proto: 'https', domain: 'yours.localhost' })).t, 'unbound');
    assert.equal((await bound.bind({ ref: 1, proto: 'https', domain: 'configure:*' })).t, 'unbound');
    bound.destroy();
  });

  test('an acl that removes a module ends the tunnels that have it', async () => {
    const { id, token } = await world.edge.api('POST', '/credentials', { acl: [] });
    const agent = await RawAgent.greeted(world, { token });
    assert.equal((await agent.bind({ ref: 0, proto: 'https', modules: { compression: {} } })).t, 'bound');
    assert.equal((await agent.bind({ ref: 1, proto: 'https' })).t, 'bound');
    const ended = agent.message('unbound');
    await world.edge.api('PATCH', `/credentials/${id}`, { acl: ['configure:oidc'] });
    const { ref, code, message } = await ended;
    assert.deepEqual([ref, code], [0, 'ERR_POSTERN_TUNNEL_ACL']);
    assert.match(message, /"configure:compression"/);
    agent.destroy();
  });

  test('rejects configure rules for modules that agents do not have, with a list of those', async () => {
    for (const rule of ['configure:', 'configure:backend', 'configure:oidc,compression', 'configure:OIDC', 'write:x']) {
      const { status, text } = await world.edge.world.api('POST', '/credentials', { acl: [rule] });
      assert.equal(status, 400, rule);
      assert.match(text, rule.startsWith('configure') ? /configure:ip_restriction/ : /configure:oidc/);
    }
  });
});

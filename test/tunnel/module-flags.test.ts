// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the modules are written like this
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import { createStartCommand } from '../../src/app/cli/agent/start-command.ts';
import { createTunnelCommand } from '../../src/app/cli/agent/tunnel-command.ts';
import type { TunnelSpec } from '../../src/tunnel/agent/handle.ts';
import { AgentWorld } from '../cli/agent-world.ts';
import { Receiver } from '../events/support/receiver.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { hostOf, localHttp } from './support/fault-world.ts';

const world = await TunnelWorld.open(
  { after },
  { POSTERN_ROLES: 'api,edge,gateway,events', POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8' },
);
const receiver = await Receiver.open({ after });
const got: IncomingMessage[] = [];
const port = await localHttp({ after }, (request, response) => {
  got.push(request);
  response.setHeader('server', 'secret');
  response.end('here');
});

/** The tunnel that a command would open. */
async function tunnelOf(args: readonly string[], file?: string): Promise<TunnelSpec> {
  const commands = new AgentWorld(file === undefined ? {} : { files: { 'postern-agent.yaml': file } });
  const command = file === undefined ? createTunnelCommand('http', commands.ports) : createStartCommand(commands.ports);
  const done = commands.run(command, args);
  const agent = await Promise.race([commands.agent(), done.then(() => assert.fail('it ended'))]);
  await agent.close();
  await done;
  return agent.options.tunnels[0] ?? assert.fail('no tunnel');
}

const FLAGS = [
  ...['--request-header-add', 'x-method: ${req.method}', '--request-header-remove', 'x-debug'],
  ...['--response-header-add', 'x-frame-options: DENY', '--response-header-remove', 'server'],
  ...['--redirect', 'path_prefix /old/ /new/ 308', '--redirect', 'exact_path /a,b /c'],
  ...['--rewrite', 'path_prefix /api/ /', '--ua-filter-deny', 'bot'],
];
const FILE = `version: 2
tunnels:
  web:
    proto: http
    addr: ${port}
    request_header: { add: ["x-method: \${req.method}"], remove: [x-debug] }
    response_header: { add: ["x-frame-options: DENY"], remove: [server] }
    redirect: [path_prefix /old/ /new/ 308, "exact_path /a,b /c"]
    rewrite: [path_prefix /api/ /]
    user_agent_filter: { deny: [bot] }
`;

test('flags and the file of an agent for headers, redirects and rewrites reach traffic', async () => {
  const tunnels = { flags: await tunnelOf([String(port), ...FLAGS]), file: await tunnelOf(['--all'], FILE) };
  assert.deepEqual(tunnels.flags.modules, tunnels.file.modules);
  for (const [name, tunnel] of Object.entries(tunnels)) {
    const agent = await world.agent([{ ...tunnel, name }]);
    const host = hostOf(agent);
    got.length = 0;
    const headers = { 'x-debug': '1', 'user-agent': 'test' };
    const { headers: answered } = await world.edge.ask(host, '/api/x?y', { headers });
    const [request = assert.fail('nothing arrived')] = got;
    assert.deepEqual(
      ['x-method', 'x-debug', 'x-forwarded-prefix'].map((each) => request.headers[each]),
      ['GET', undefined, '/api'],
      name,
    );
    assert.deepEqual([request.url, answered['x-frame-options'], answered['server']], ['/x?y', 'DENY', undefined], name);
    const moved = await world.edge.ask(host, '/old/x', { headers });
    assert.deepEqual([moved.status, moved.headers['location']], [308, `https://${host}/new/x`], name);
    assert.equal(await world.edge.status(host, '/a,b', { headers }), 302, name);
    assert.equal(await world.edge.status(host, '/', { headers: { 'user-agent': 'bot' } }), 403, name);
    await agent.close();
  }
});

test('the event of a request has the decision of every module that decides', async () => {
  const { edge } = world;
  const destination = await edge.api('POST', '/event_destinations', {
    target: { webhook: { url: receiver.url('/') } },
  });
  await edge.api('POST', '/event_subscriptions', {
    sources: [{ type: 'http_request_complete.v0' }],
    destination_ids: [destination.id],
  });
  const site = await edge.site(await edge.staticBackend(`127.0.0.1:${port}`));
  const modules = {
    user_agent_filter: { deny: ['bot'] },
    rate_limit: { limits: [{ limit: 3, window_seconds: 3_600, key: 'address' }] },
    redirect: { rules: [{ match_type: 'path_prefix', match: '/old/', to: '/new/' }] },
    circuit_breaker: { error_threshold_percentage: 0.5 },
    rewrite: { rules: [{ match_type: 'regex', match: '^/odd(.*)$', to: '/$1' }] },
  };
  for (const [name, body] of Object.entries(modules)) await edge.api('PUT', `${site.routePath}/${name}`, body);
  const ask = (path: string, name = 'test') => edge.status(site.host, path, { headers: { 'user-agent': name } });
  const statuses = [await ask('/', 'bot'), await ask('/'), await ask('/old/'), await ask('/odd/x'), await ask('/')];
  assert.deepEqual(statuses, [403, 200, 302, 400, 429]);
  const objects = (await receiver.until('/', 5)).map(({ event }) => event.object);
  const decisions = ['user_agent_filter', 'rate_limit', 'redirect', 'circuit_breaker'].map(
    (name) => `${name}.decision`,
  );
  const said = objects.map((each) => [
    each['status'],
    ...decisions.map((name) => each[name]),
    each['answered_by'] ?? each['refused_by'],
  ]);
  assert.deepEqual(
    said.sort(([one], [other]) => Number(one) - Number(other)),
    [
      [200, 'allow', 'allow', 'allow', 'allow', null],
      [302, 'allow', 'allow', 'answer', 'invalid', 'redirect:rule'],
      [400, 'allow', 'allow', 'allow', 'allow', 'rewrite:result'],
      [403, 'block', 'invalid', 'invalid', 'invalid', 'user_agent_filter:user_agent'],
      [429, 'allow', 'block', 'invalid', 'invalid', said.at(-1)?.at(-1)],
    ],
  );
  assert.match(String(said.at(-1)?.at(-1)), /^rate_limit:/);
});

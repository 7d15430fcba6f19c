import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { readAgentConfig } from '../../../src/app/cli/agent/config/read-agent-config.ts';
import { loadConfig } from '../../../src/app/settings/load.ts';
import { moduleRisks } from '../../../src/modules/declared-settings.ts';
import { modules } from '../../../src/modules/registry.ts';
import { decodeModules } from '../../../src/proxy/edge/tunnels/endpoint-publisher.ts';
import { EdgeWorld } from '../../support/edge-world.ts';

// The tests run in a copy of the project that has the throwaway module: see `throwaway-module.test.ts`.
const LIMIT = { POSTERN_THROWAWAY_LIMIT: '9' };

test('the edge keeps the names that the module reserves, and serves its path', { timeout: 60_000 }, async () => {
  const world = await EdgeWorld.open({ after }, LIMIT);
  const upstream = createServer((request, response) => {
    response.setHeader('set-cookie', ['Throwaway.Seen=forged', 'other=1']);
    response.end(JSON.stringify(request.headers['x-throwaway'] ?? null));
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  after(() => upstream.close());
  const backend = await world.staticBackend(`127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  const greeted = await world.site(backend);
  const bare = await world.site(backend);
  const refused = await world.world.api('PUT', `${greeted.routePath}/throwaway`, { greeting: 'far too long' });
  assert.match(refused.text, /is longer than throwaway_limit/);
  await world.api('PUT', `${greeted.routePath}/throwaway`, { greeting: 'hello' });

  const spoofed = { headers: { 'x-throwaway': 'forged' } };
  assert.equal((await world.ask(greeted.host, '/', spoofed)).text, '"hello of 9"');
  const answer = await world.ask(bare.host, '/', spoofed);
  assert.equal(answer.text, 'null', 'also where the module is not used');
  assert.deepEqual(answer.headers['set-cookie'], ['other=1']);

  assert.equal((await world.ask(greeted.host, '/.postern/throwaway')).text, 'thrown away');
  const other = await world.ask(greeted.host, '/.postern/other');
  assert.equal(other.headers['postern-error-code'], 'ERR_POSTERN_THROWAWAY');
  await world.api('POST', '/credentials', { acl: ['configure:throwaway'] });
});

test('its setting is loaded, and its risk is known', () => {
  const { config, sources } = loadConfig({ flags: new Map([['throwaway-limit', '60']]), env: LIMIT });
  assert.deepEqual(config.moduleSettings.get('throwaway'), { throwaway_limit: 60 });
  assert.equal(sources['throwaway_limit'], 'flag --throwaway-limit');
  assert.deepEqual(moduleRisks(config.moduleSettings), [
    { message: 'greetings may be long', advice: 'lower throwaway_limit' },
  ]);
});

test('the agent asks for it, and the server decodes what the agent sends', () => {
  const file = 'version: 2\ntunnels:\n  web: { proto: http, addr: 1, throwaway: { greeting: hello } }\n';
  const asked = readAgentConfig(file, 'f').tunnels[0]?.modules ?? {};
  assert.deepEqual(asked, { throwaway: { greeting: 'hello' } });
  const decoded = decodeModules('ep_1', 'https', asked, { modules, moduleSettings: new Map() });
  assert.deepEqual(decoded.modules.get('throwaway'), { enabled: true, greeting: 'hello' });
  assert.throws(
    () =>
      decodeModules('ep_1', 'https', { throwaway: { greeting: 'hello you' } }, { modules, moduleSettings: new Map() }),
    /throwaway: greeting is longer than throwaway_limit/,
  );
  assert.throws(
    () => readAgentConfig(file.replace('proto: http', 'proto: tcp'), 'f'),
    /throwaway cannot be used with proto tcp/,
  );
});

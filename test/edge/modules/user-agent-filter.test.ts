import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask, PROTOCOLS } from './hooked-client.ts';
import { ModuleWays } from './module-ways.ts';

const ways = await ModuleWays.open({ after });

async function statuses(agents: readonly (string | null)[]): Promise<Set<string>> {
  const seen = new Set<string>();
  for (const { edge, host } of ways.ways) {
    for (const protocol of PROTOCOLS) {
      const found: number[] = [];
      for (const agent of agents) {
        const headers = agent === null ? {} : { 'user-agent': agent };
        found.push((await ask(edge, host, protocol, { headers })).status);
      }
      seen.add(found.join(' '));
    }
  }
  return seen;
}

test('patterns decide on every way: allow wins, no name is refused, a deletion is effective immediately', async () => {
  await ways.put('user_agent_filter', { allow: ['^goodbot/', '(?i)friendly'], deny: ['bot', '(?i)curl'] });
  const agents = ['Mozilla/5.0', 'evilbot/1', 'goodbot/1', 'CURL/8', 'Curl FRIENDLY', '', null, 'x'.repeat(2_049)];
  assert.deepEqual([...(await statuses(agents))], ['200 403 200 403 200 403 403 403']);
  await ways.put('user_agent_filter', { allow: ['^$'] });
  assert.deepEqual([...(await statuses(['anything', '', null]))], ['200 200 200']);
  await ways.put('user_agent_filter', { enabled: false, deny: ['.'] });
  assert.deepEqual([...(await statuses(['anything', null]))], ['200 200']);
  await ways.put('user_agent_filter', { deny: ['.'] });
  assert.deepEqual([...(await statuses(['anything']))], ['403']);
  await ways.delete('user_agent_filter');
  assert.deepEqual([...(await statuses(['anything', null]))], ['200 200']);
});

test('patterns that are none, or too large, are refused with their place', async () => {
  const [way] = ways.ways;
  const path = `${way?.routePath}/user_agent_filter`;
  for (const [pattern, message] of [
    ['(', /syntax of RE2.*missing/],
    ['(?=x)', /syntax of RE2/],
    ['(a)\\1', /syntax of RE2/],
    ['((a{100}){100}){100}', /too large/],
    ['(a|bc|def){300}', /too large/],
    ['', /deny/],
  ] as const) {
    const { status, body } = await ways.edge.world.api('PUT', path, { deny: ['ok', pattern] });
    assert.equal(status, 400, pattern);
    assert.equal(body.details.field, '/deny/1', pattern);
    assert.match(body.msg, message);
  }
  const many = Array.from({ length: 20 }, () => '(ab?c){90}');
  const { status, body } = await ways.edge.world.api('PUT', path, { deny: many });
  assert.deepEqual([status, /too large together/.test(body.msg)], [400, true], body.msg);
});

test('an explanation and the event say what it decided', async () => {
  await ways.put('user_agent_filter', { deny: ['bot'] });
  const [way] = ways.ways;
  assert.ok(way !== undefined);
  const explain = async (agent: string) => {
    const question = { url: `https://${way.host}/`, headers: { 'user-agent': agent } };
    const { decisions, outcome } = await ways.edge.api('POST', '/explain', question);
    const said = decisions.find(({ module }: { module: string }) => module === 'user_agent_filter');
    return [said.decision, said.reason, outcome.status];
  };
  assert.deepEqual(await explain('bot'), ['refuse', 'user_agent', 403]);
  assert.deepEqual(await explain('other'), ['pass', 'user_agent', undefined]);
});

test('an agent asks for it', async () => {
  const addr = ways.serviceAddress;
  const modules = { user_agent_filter: { allow: [], deny: ['a,b'] } };
  const agent = await ways.world.agent([{ proto: 'https', addr, modules }]);
  const host = new URL(agent.publicUrl ?? '').hostname;
  assert.equal((await ask(ways.edge, host, 'h2', { headers: { 'user-agent': 'xa,by' } })).status, 403);
  assert.equal((await ask(ways.edge, host, 'h2', { headers: { 'user-agent': 'ab' } })).status, 200);
  const wrong = ways.world.agent([
    { proto: 'https', addr, modules: { user_agent_filter: { allow: [], deny: ['('] } } },
  ]);
  await assert.rejects(wrong, /user_agent_filter/);
});

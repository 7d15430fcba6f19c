import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { until } from '../../support/cluster.ts';
import { ask, PROTOCOLS, type Protocol } from './hooked-client.ts';
import { type ModuleWay, ModuleWays } from './module-ways.ts';

const FAILING = { error_threshold_percentage: 0.5, volume_threshold: 4, tripped_duration: 600 };

const ways = await ModuleWays.open({ after });

function answer(status: number): void {
  ways.respond = (_request, response) => void response.writeHead(status).end('ok');
}

async function statuses({ edge, host }: ModuleWay, protocol: Protocol, count: number): Promise<string> {
  const seen: number[] = [];
  for (let times = 0; times < count; times += 1) seen.push((await ask(edge, host, protocol)).status);
  return seen.join(' ');
}

async function stateOf({ edge, routePath }: ModuleWay): Promise<string> {
  return (await edge.api('GET', `${routePath}/circuit_breaker`)).state;
}

/** Each node has a circuit of its own. */
async function closeAll(): Promise<void> {
  await ways.put('circuit_breaker', { ...FAILING, enabled: false });
  await ways.put('circuit_breaker', FAILING);
}

test('on every way the circuit opens after enough failures, and a deletion or an update is effective immediately', async () => {
  for (const protocol of PROTOCOLS) {
    await closeAll();
    answer(503);
    for (const way of ways.ways) {
      assert.equal(await statuses(way, protocol, 3), '503 503 503', way.name);
      assert.equal(await stateOf(way), 'closed', way.name);
      const before = ways.got.length;
      assert.equal(await statuses(way, protocol, 3), '503 503 503', way.name);
      assert.equal(ways.got.length, before + 1, `${way.name}: the backend gets no request from an open circuit`);
      assert.equal(await stateOf(way), 'open', way.name);
      const { status, headers, body } = await ask(way.edge, way.host, protocol);
      assert.equal(status, 503);
      assert.ok(Number(headers['retry-after']) > 500, String(headers['retry-after']));
      assert.match(String(body), /ERR_POSTERN_CIRCUIT_OPEN/);
    }
    answer(200);
    await ways.put('circuit_breaker', FAILING);
    for (const way of ways.ways)
      assert.equal(await statuses(way, protocol, 1), '503', 'the same configuration keeps it');
    await ways.put('circuit_breaker', { ...FAILING, enabled: false });
    for (const way of ways.ways) {
      assert.equal(await statuses(way, protocol, 1), '200', way.name);
      assert.equal(await stateOf(way), 'closed', way.name);
    }
    await ways.put('circuit_breaker', FAILING);
    for (const way of ways.ways) assert.equal(await statuses(way, protocol, 1), '200', way.name);
    await ways.delete('circuit_breaker');
    answer(500);
    for (const way of ways.ways) assert.equal(await statuses(way, protocol, 9), Array(9).fill(500).join(' '));
  }
});

test('a probe closes the circuit, and the event of its request says so', async () => {
  const [way] = ways.ways;
  assert.ok(way !== undefined);
  const { edge, host, routePath } = way;
  await ways.put('circuit_breaker', { ...FAILING, tripped_duration: 1 });
  answer(500);
  assert.equal(await statuses(way, 'h2', 5), '500 500 500 500 503');
  const explained = async () => {
    const { decisions, outcome } = await edge.api('POST', '/explain', { url: `https://${host}/` });
    const said = decisions.find(({ module }: { module: string }) => module === 'circuit_breaker');
    return [said.decision, said.reason, outcome.status];
  };
  assert.deepEqual(await explained(), ['refuse', 'open', 503]);
  answer(200);
  await until('it is half-open', async () => (await stateOf(way)) === 'half_open');
  for (let times = 0; times < 1_000; times += 50)
    await Promise.all(Array.from({ length: 50 }, async () => assert.deepEqual((await explained())[1], 'probe')));
  assert.equal(await stateOf(way), 'half_open', 'explanations move nothing');
  assert.equal(await statuses(way, 'http/1.1', 2), '200 200');
  assert.equal(await stateOf(way), 'closed');
  assert.deepEqual(await explained(), ['pass', 'closed', undefined]);
  const { body } = await edge.world.api('PUT', `${routePath}/circuit_breaker`, { ...FAILING, state: 'open' });
  assert.deepEqual(body, { ...FAILING, enabled: true, rolling_window: 10, num_buckets: 10, state: 'closed' });
  const { circuit_breaker: inRoute } = await edge.api('GET', routePath);
  assert.equal(inRoute.state, undefined);
});

test('fields are checked, and each message names the field', async () => {
  const [way] = ways.ways;
  for (const [field, value] of [
    ['error_threshold_percentage', 1.1],
    ['error_threshold_percentage', -0.1],
    ['error_threshold_percentage', undefined],
    ['tripped_duration', 0],
    ['rolling_window', 0],
    ['num_buckets', 0],
    ['num_buckets', 129],
    ['volume_threshold', -1],
    ['volume_threshold', 1.5],
  ] as const) {
    const sent = { error_threshold_percentage: 0.5, [field]: value };
    const { status, body } = await ways.edge.world.api('PUT', `${way?.routePath}/circuit_breaker`, sent);
    assert.deepEqual([status, body.details.field], [400, `/${field}`], `${field} ${value}`);
  }
});

test('an agent asks for it', async () => {
  const modules = { circuit_breaker: { error_threshold_percentage: 0.5, volume_threshold: 2 } };
  const agent = await ways.world.agent([{ proto: 'https', addr: ways.serviceAddress, modules } as never]);
  const host = new URL(agent.publicUrl ?? '').hostname;
  answer(500);
  const seen: number[] = [];
  for (let times = 0; times < 3; times += 1) seen.push((await ask(ways.edge, host, 'h2')).status);
  assert.deepEqual(seen, [500, 500, 503]);
});

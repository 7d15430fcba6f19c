import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { systemClock } from '../../src/kit/clock.ts';
import { InstallationRequests, OthersRequests } from '../../src/proxy/telemetry/requests/installation-requests.ts';
import { RequestHistory } from '../../src/proxy/telemetry/requests/request-history.ts';
import { InstallationSeries } from '../../src/proxy/telemetry/series/installation-series.ts';
import { TrafficSeries } from '../../src/proxy/telemetry/series/traffic-series.ts';
import { NodeQuestions } from '../../src/tunnel/nodes/node-questions.ts';
import { recorded } from '../support/recorded-request.ts';
import { eventually } from '../tunnel/support/fault-world.ts';
import { LinkWorld } from './support/link-world.ts';

const world = await LinkWorld.open({ after });

/** An `old` one does not know questions. */
async function node(isOld = false) {
  const { links, membership, id } = await world.node();
  const questions = new NodeQuestions(membership, isOld ? null : links);
  const history = new RequestHistory({ maxRequests: 1_000 });
  return { id, links, questions, history, requests: new InstallationRequests(history, questions) };
}

const one = await node();
const two = await node();
const old = await node(true);
await eventually('the nodes are linked', () =>
  [two, old].every(({ id }) => one.links.get(id) !== undefined && two.links.get(one.id) !== undefined),
);

test('requests of all nodes are listed together, and nodes that do not answer are named', async () => {
  const made = [two, one, two, one].map((each, at) => {
    const request = recorded({ path: `/${at}` });
    each.history.record(request);
    return request;
  });
  const { requests, nodes } = await one.requests.list({}, 3);
  assert.deepEqual(
    requests.map(({ path, node: name }) => [path, name]),
    [
      ['/3', one.questions.ownName],
      ['/2', two.questions.ownName],
      ['/1', one.questions.ownName],
    ],
  );
  assert.deepEqual(
    nodes.map(({ name, answered }) => [name, answered]),
    [
      [one.questions.ownName, true],
      [two.questions.ownName, true],
      [old.questions.ownName, false],
    ],
  );
  assert.match(nodes[2]?.problem ?? '', /does not know the method/);
  const found = await one.requests.find(made[0]?.id ?? '');
  assert.deepEqual([found.requests[0]?.['path'], found.requests[0]?.['node']], ['/0', two.questions.ownName]);
  assert.deepEqual((await one.requests.find(made[3]?.id ?? '')).nodes, [], 'nobody else need be asked');
  assert.equal((await one.requests.find('rq_none')).requests.length, 0);
  assert.deepEqual((await two.requests.list({ status: '404' }, 10)).requests, []);
});

test('an answer may be larger than other messages between nodes, and has a bound', async () => {
  two.questions.answer('bulk', ({ length }) => ({ text: 'x'.repeat(Number(length)) }));
  const { text } = await one.questions.ask(two.id, { kind: 'bulk', length: 1_000_000 });
  assert.equal(text, 'x'.repeat(1_000_000));
  await assert.rejects(one.questions.ask(two.id, { kind: 'bulk', length: 1_100_000 }));
  await assert.rejects(one.questions.ask(two.id, { kind: 'unknown' }), /does not know the question/);
  assert.throws(() => two.questions.answer('bulk', () => ({})), /answered already/);
});

test('a full page of the largest requests fits into an answer', async () => {
  const long = 'y'.repeat(512);
  const headers = Array.from({ length: 10 }, (_, at) => [`x-${at}`, long]).flat();
  for (let count = 0; count < 101; count += 1)
    two.history.record(recorded({ path: `/${'x'.repeat(1_024)}`, query: 'z'.repeat(1_024), headers, host: 'large' }));
  const { requests, nodes } = await one.requests.list({ host: 'large' }, 101);
  assert.deepEqual([requests.length, nodes[1]?.answered], [101, true]);
});

test('traffic over time is that of all nodes, and names those that did not answer', async () => {
  const sample = { isError: true, bytesIn: 1, bytesOut: 2, durationMs: 4 };
  const [own, other] = [new TrafficSeries(systemClock), new TrafficSeries(systemClock)];
  const series = new InstallationSeries(own, one.questions, systemClock);
  new InstallationSeries(other, two.questions, systemClock);
  own.add(sample, { routeId: 'r1', edgeId: 'e' });
  other.add(sample, { routeId: 'r1', edgeId: 'e' });
  other.add({ ...sample, isError: false }, { routeId: 'r2', edgeId: 'e' });
  const { points, nodes } = await series.points({ fromMs: 0, stepSeconds: 60, routeId: null });
  const sum = (name: 'requests' | 'errors' | 'bytesOut'): number => points.reduce((all, point) => all + point[name], 0);
  assert.deepEqual([sum('requests'), sum('errors'), sum('bytesOut')], [3, 2, 6]);
  assert.deepEqual(
    nodes.map(({ answered }) => answered),
    [true, true, false],
  );
  const { routes } = await series.routes(0, 10);
  assert.deepEqual(
    routes.map(({ routeId, requests }) => [routeId, requests]),
    [
      ['r1', 2],
      ['r2', 1],
    ],
  );
});

test('a live view sees each request of another node once', async () => {
  const others = new OthersRequests((sinceMs) => one.requests.ofOthers({ sinceMs }, 100), systemClock);
  await others.next();
  two.history.record(recorded({ path: '/live' }));
  one.history.record(recorded({ path: '/own' }));
  const seen = [...(await others.next()), ...(await others.next())].map(({ path }) => path);
  assert.deepEqual(
    seen.filter((path) => path === '/live' || path === '/own'),
    ['/live'],
  );
});

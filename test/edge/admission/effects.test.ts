import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaterDecision, Verdict } from '../../../src/modules/contract/decides.ts';
import type { Module } from '../../../src/modules/contract/module.ts';
import type { PreparedModule } from '../../../src/modules/contract/prepared-module.ts';
import { admissionSteps } from '../../../src/proxy/snapshot/compile-edge.ts';
import type { RouteSnapshot } from '../../../src/proxy/snapshot/edge-snapshot.ts';
import { JudgedExchange } from './judged-exchange.ts';

const PASS: Verdict = { isPass: true, reason: 'test' };
const REGISTRY = ['limit', 'slow', 'limit_after', 'last'].map((name) => ({
  name,
  decidesAccess: name === 'slow',
  ...(name === 'limit' && { judgesAgainAfter: 'limit_after' }),
})) as unknown as readonly Module[];

function routeOf(prepared: Readonly<Record<string, PreparedModule>>, id = 'edghtsrt_1'): { snapshot: RouteSnapshot } {
  const modules = Object.entries(prepared).map(([name, each]) => ({ name, prepared: each }));
  const rest = {
    problem: null,
    requestChangers: [],
    responseChangers: [],
    outcomeListeners: [],
    ownCookieNames: new Set(),
  };
  return {
    snapshot: { id, modules, ...admissionSteps(modules, REGISTRY), ...rest } as unknown as RouteSnapshot,
  };
}

function counting(calls: string[], name: string): LaterDecision {
  const called = (hook: string) => (): Verdict => {
    calls.push(`${name} ${hook}`);
    return PASS;
  };
  return { judge: called('asks'), admit: called('acts') };
}

test('a request that starts again, because the configuration changes, is counted once', async () => {
  const calls: string[] = [];
  const slow: PreparedModule = { judge: () => new Promise(setImmediate).then(() => PASS) };
  const modules = { limit: counting(calls, 'limit'), slow, limit_after: counting(calls, 'after') };
  const route = routeOf(modules);
  const judged = new JudgedExchange([route]);
  judged.exchange.start();
  for (let change = 0; change < 3; change += 1) {
    judged.exchange.reevaluate(judged.edge);
    await new Promise(setImmediate);
  }
  await new Promise(setImmediate);
  // The visitor's own request may have used the last of a limit.
  assert.deepEqual(calls, ['limit acts', 'after acts']);
  assert.equal(judged.outcome, 'forwarded as nobody');
});

test('a module that decides access is asked again after it has acted, by the configuration that is valid now', async () => {
  const calls: string[] = [];
  const slow = counting(calls, 'slow');
  const late: PreparedModule = { judge: () => new Promise(setImmediate).then(() => PASS) };
  const judged = new JudgedExchange([routeOf({ slow, limit_after: late })]);
  judged.exchange.start();
  judged.exchange.reevaluate(judged.edge);
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  assert.deepEqual(calls, ['slow acts', 'slow asks']);
});

test('a request that another route takes meanwhile is counted there, too', async () => {
  const calls: string[] = [];
  const slow: PreparedModule = { judge: () => new Promise(setImmediate).then(() => PASS) };
  const before = routeOf({ limit: counting(calls, 'before'), slow });
  const after = routeOf({ limit: counting(calls, 'after') }, 'edghtsrt_2');
  const judged = new JudgedExchange([before]);
  judged.exchange.start();
  Object.assign(judged.edge.routes, { match: () => ({ found: after.snapshot }) });
  Object.assign(after.snapshot, { backend: {} });
  judged.exchange.reevaluate(judged.edge);
  await new Promise(setImmediate);
  assert.deepEqual(calls, ['before acts', 'after acts']);
});

test('a route without effects has one list of steps for all who ask', () => {
  const { snapshot } = routeOf({ slow: { judge: () => PASS } });
  assert.equal(snapshot.entrySteps, snapshot.steps);
  assert.equal(snapshot.accessSteps, snapshot.steps);
});

test('a module that acts without judging makes its edge refuse: nobody could ask it', () => {
  assert.throws(() => routeOf({ limit: { admit: () => PASS } }), /limit module admits without judging/);
});

test('a module with a later decision acts at both places, once each, also when the request starts again', async () => {
  const calls: string[] = [];
  const slow: PreparedModule = { judge: () => new Promise(setImmediate).then(() => PASS) };
  const limit = { ...counting(calls, 'limit'), later: counting(calls, 'later') };
  const route = routeOf({ limit, slow, limit_after: counting(calls, 'after'), last: counting(calls, 'last') });
  const judged = new JudgedExchange([route]);
  judged.exchange.start();
  judged.exchange.reevaluate(judged.edge);
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  assert.deepEqual(calls, ['limit acts', 'after acts', 'later acts', 'last acts']);
  assert.equal(judged.outcome, 'forwarded as nobody');
});

test('the later place is there on a route without the module that it is named by', () => {
  const later = { judge: () => PASS };
  const places = (prepared: Readonly<Record<string, PreparedModule>>): string =>
    routeOf(prepared)
      .snapshot.steps.map(({ module, isLater }) => (isLater === true ? `${module} again` : module))
      .join(', ');
  assert.equal(places({ limit: { later }, slow: { judge: () => PASS } }), 'slow, limit again');
  assert.equal(places({ limit: { later }, last: { judge: () => PASS } }), 'limit again, last');
});

test('a module that decides later without a later place makes its edge refuse', () => {
  assert.throws(() => routeOf({ slow: { later: { judge: () => PASS } } }), /slow module declares no later place/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Permit, TrafficRequest, Verdict } from '../../../src/modules/contract/decides.ts';
import type { Module } from '../../../src/modules/contract/module.ts';
import type { PreparedModule } from '../../../src/modules/contract/prepared-module.ts';
import type { ClientSide } from '../../../src/proxy/edge/connections/connection-facts.ts';
import { Exchange } from '../../../src/proxy/edge/exchange/exchange.ts';
import { admissionSteps } from '../../../src/proxy/snapshot/compile-edge.ts';
import type { AdmissionStep, EdgeSnapshot, RouteSnapshot } from '../../../src/proxy/snapshot/edge-snapshot.ts';
import { exchangeRuntime } from '../admission/exchange-runtime.ts';

const PASS: Verdict = { isPass: true, reason: 'member' };
const REFUSAL: Verdict = { status: 403, code: 'ERR_POSTERN_LOGIN_DENIED', message: 'no', reason: 'group' };

/**
 * A request in progress at a backend that never responds, behind a module that grants a permit and one that looks at
 * the user.
 */
function underWay(isReadFirst = false, change: Promise<null> | null = null) {
  const user = { version: 1, isMember: true, isReadFirst };
  const judged: string[] = [];
  const permit: Permit = {
    userId: 'au_1',
    module: 'gives',
    identity: { kind: 'user', id: 'au_1', email: '', isEmailVerified: false, name: '', claims: {}, droppedClaims: [] },
    get version() {
      return user.version;
    },
    isHeld: () => true,
    touch() {},
  };
  const gives: PreparedModule = {
    judge: (request) => {
      judged.push('gives');
      if (!user.isReadFirst) {
        request.permit = permit;
        return PASS;
      }
      return Promise.resolve().then(() => {
        request.permit = permit;
        return PASS;
      });
    },
  };
  const looks: PreparedModule = {
    judge: ({ permit: held }) => {
      judged.push('looks');
      return held !== null && user.isMember ? PASS : REFUSAL;
    },
  };
  const modules = [
    { name: 'gives', prepared: gives },
    { name: 'looks', prepared: looks },
  ];
  const registry = [
    { name: 'gives', isLogin: true, decidesAccess: true },
    { name: 'looks', decidesAccess: true },
  ] as unknown as readonly Module[];
  const route = {
    problem: null,
    modules: [],
    ...admissionSteps(modules, registry),
    requestChangers: change === null ? [] : [{ name: 'changes', prepared: { transformRequest: () => change } }],
    responseChangers: [],
    outcomeListeners: [],
    backend: {},
    ownCookieNames: new Set(),
  } as unknown as RouteSnapshot;
  const site = { route };
  const edge = {
    id: 'edghts_1',
    ownPathRoutes: [],
    routes: { match: () => ({ found: site.route }) },
    tls: {},
    tlsGeneration: 'g',
  } as unknown as EdgeSnapshot;
  const answers: number[] = [];
  const writer = { isHeadSent: !isReadFirst, cut() {}, answer: (status: number) => answers.push(status) };
  const head = { method: 'GET', host: 'app.example', path: { path: '/', target: '/', key: '/' }, headers: [] };
  const sent: string[] = [];
  const senders: (string | null)[] = [];
  const upstream = {
    send() {
      sent.push(exchange.route === route ? 'old route' : 'new route');
      senders.push(exchange.permit?.userId ?? null);
      return { abort() {} };
    },
  };
  const runtime = exchangeRuntime(() => edge, upstream);
  const connection = { edgeId: 'edghts_1', tlsGeneration: 'g', remoteAddress: '192.0.2.1', clientCertificate: null };
  const client = { head, writer, source: null, trailers: () => [] } as unknown as ClientSide;
  const exchange = new Exchange(runtime, connection as unknown as ConstructorParameters<typeof Exchange>[1], client);
  exchange.start();
  return { exchange, edge, user, judged, site, answers, sent, senders };
}

test("when the user's data changes, the other modules re-evaluate a stream and may cut it", () => {
  const { exchange, user, judged } = underWay();
  assert.deepEqual(judged.splice(0), ['gives', 'looks']);
  exchange.look(1);
  assert.deepEqual(judged.splice(0), [], 'nothing has changed');
  user.version = 2;
  exchange.look(2);
  assert.deepEqual(judged.splice(0), ['looks'], 'not the module whose permit is held');
  assert.equal(exchange.refusedBy, null);
  user.version = 3;
  user.isMember = false;
  exchange.look(3);
  assert.equal(exchange.refusedBy, 'cut:looks');
});

test('when the configuration changes, the modules decide one after the other, also when one needs time', async () => {
  const { exchange, edge, user, judged } = underWay();
  judged.length = 0;
  user.isReadFirst = true;
  exchange.reevaluate(edge);
  assert.deepEqual(judged, ['gives']);
  await new Promise(setImmediate);
  assert.deepEqual([judged, exchange.refusedBy], [['gives', 'looks'], null]);
  user.isMember = false;
  exchange.reevaluate(edge);
  await new Promise(setImmediate);
  assert.equal(exchange.refusedBy, 'cut:looks');
});

test('a request whose slow verdict a configuration change outdates starts again under the new rules', async () => {
  const { exchange, edge, user, judged, site, answers, sent } = underWay(true);
  assert.deepEqual(judged.splice(0), ['gives']);
  const refuses = { module: 'refuses', grantsPermit: false, decidesAccess: true, ask: () => REFUSAL };
  site.route = withSteps(site.route, [...site.route.steps, refuses]);
  user.isReadFirst = false;
  exchange.reevaluate(edge);
  assert.deepEqual(judged.splice(0), [], 'no second evaluation beside the pending one');
  await new Promise(setImmediate);
  assert.deepEqual([judged, sent, answers], [['gives', 'looks'], [], [403]]);
  assert.deepEqual([exchange.route, exchange.refusedBy], [site.route, 'refuses:group']);
});

test('a request that the replaced rules would refuse late passes by the new ones, and keeps none of their findings', async () => {
  const { exchange, edge, user, judged, site, answers, sent } = underWay(true);
  const rehearses = {
    module: 'rehearses',
    grantsPermit: false,
    decidesAccess: true,
    ask: (request: TrafficRequest) => {
      request.isExemptFromLogin = true;
      return { ...PASS, wouldRefuse: { reason: 'none', rule: null } } as Verdict;
    },
  };
  const late = { module: 'late', grantsPermit: false, decidesAccess: true, ask: () => Promise.resolve(REFUSAL) };
  const before = site.route;
  site.route = withSteps(before, [rehearses, late, ...before.steps]);
  await new Promise(setImmediate);
  // The first exchange went by the route without them.
  assert.deepEqual(sent.splice(0), ['old route']);
  assert.ok(exchange.permit !== null && judged.splice(0).length > 0 && user.isReadFirst);
  exchange.cut('test');
  const second = restart(exchange);
  assert.ok(second.wouldRefuse !== null && second.isExemptFromLogin);
  site.route = before;
  user.isReadFirst = false;
  second.reevaluate(edge);
  await new Promise(setImmediate);
  assert.deepEqual([second.wouldRefuse, second.isExemptFromLogin, second.refusedBy], [null, false, null]);
  assert.deepEqual([answers, second.route, second.permit?.userId], [[], before, 'au_1']);
});

test('a request that a module still changes is not forwarded while another decides again who sends it', async () => {
  for (const isMember of [true, false]) {
    const { promise: change, resolve } = Promise.withResolvers<null>();
    const { promise: known, resolve: tell } = Promise.withResolvers<void>();
    const { exchange, edge, user, site, senders } = underWay(false, change);
    const [gives, ...others] = site.route.steps;
    assert.ok(gives);
    const waits = { ...gives, ask: (request: TrafficRequest) => known.then(() => gives.ask(request)) };
    site.route = withSteps(site.route, [waits, ...others]);
    exchange.reevaluate(edge);
    resolve(null);
    await new Promise(setImmediate);
    assert.deepEqual(senders, [], 'forwarded without a sender');
    user.isMember = isMember;
    tell();
    await new Promise(setImmediate);
    assert.deepEqual([senders, exchange.isDone], isMember ? [['au_1'], false] : [[], true]);
  }
});

function withSteps(route: RouteSnapshot, steps: readonly AdmissionStep[]): RouteSnapshot {
  return { ...route, steps, entrySteps: steps, accessSteps: steps };
}

/** Another request on the same connection. */
function restart({ runtime, connection, client }: Exchange): Exchange {
  const exchange = new Exchange(runtime, connection, client);
  exchange.start();
  return exchange;
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientSide } from '../../../src/edge/client-side.ts';
import type { EdgeRuntime } from '../../../src/edge/edge-runtime.ts';
import { Exchange } from '../../../src/edge/exchange.ts';
import type { Permit, PreparedModule, TrafficRequest, Verdict } from '../../../src/modules/prepared-module.ts';
import type { EdgeSnapshot, RouteSnapshot } from '../../../src/snapshot/edge-snapshot.ts';

const PASS: Verdict = { isPass: true, reason: 'member' };
const REFUSAL: Verdict = { status: 403, code: 'ERR_POSTERN_LOGIN_DENIED', message: 'no', reason: 'group' };

/**
 * A request in progress at a backend that never responds, behind a module that grants a permit and one that looks at
 * the user.
 */
function underWay() {
  const user = { version: 1, isMember: true, isReadFirst: false };
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
  const route = {
    problem: null,
    modules: [],
    steps: [
      { module: 'gives', grantsPermit: true, ask: (request: TrafficRequest) => gives.judge?.(request) },
      { module: 'looks', grantsPermit: false, ask: (request: TrafficRequest) => looks.judge?.(request) },
    ],
    requestChangers: [],
    responseChangers: [],
    backend: {},
    ownCookieNames: new Set(),
  } as unknown as RouteSnapshot;
  const edge = {
    id: 'edghts_1',
    ownPathRoutes: [],
    routes: { match: () => ({ found: route }) },
    tls: {},
    tlsGeneration: 'g',
  } as unknown as EdgeSnapshot;
  const writer = { isHeadSent: true, cut() {} };
  const head = { method: 'GET', host: 'app.example', path: { path: '/', target: '/', key: '/' }, headers: [] };
  const upstream = { send: () => ({ abort() {} }) };
  const runtime = {
    clock: { nowMs: () => 0 },
    forwarding: { dropped: [] },
    newRequestId: () => 'req_1',
    clientAddress: () => '192.0.2.1',
    trustedChain: () => null,
    findEdge: () => edge,
    targetsOf: () => [{ kind: 'upstream', name: 'u', upstream }],
    begin() {},
    finish() {},
    bug: (_exchange: unknown, error: unknown) => {
      throw error;
    },
  } as unknown as EdgeRuntime;
  const connection = { edgeId: 'edghts_1', tlsGeneration: 'g', remoteAddress: '192.0.2.1', clientCertificate: null };
  const client = { head, writer, source: null, trailers: () => [] } as unknown as ClientSide;
  const exchange = new Exchange(runtime, connection as unknown as ConstructorParameters<typeof Exchange>[1], client);
  exchange.start();
  return { exchange, edge, user, judged };
}

test("when the user's data changes, the other modules re-evaluate a stream and may cut it", () => {
  const { exchange, user, judged } = underWay();
  assert.deepEqual(judged.splice(0), ['gives', 'looks']);
  exchange.checkPermit(1);
  assert.deepEqual(judged.splice(0), [], 'nothing has changed');
  user.version = 2;
  exchange.checkPermit(2);
  assert.deepEqual(judged.splice(0), ['looks'], 'not the module whose permit is held');
  assert.equal(exchange.refusedBy, null);
  user.version = 3;
  user.isMember = false;
  exchange.checkPermit(3);
  assert.equal(exchange.refusedBy, 'cut:looks');
});

test('when the configuration changes, the modules decide one after the other, also when one needs time', async () => {
  const { exchange, edge, user, judged } = underWay();
  judged.length = 0;
  user.isReadFirst = true;
  exchange.judgeAgain(edge);
  assert.deepEqual(judged, ['gives']);
  await new Promise(setImmediate);
  assert.deepEqual([judged, exchange.refusedBy], [['gives', 'looks'], null]);
  user.isMember = false;
  exchange.judgeAgain(edge);
  await new Promise(setImmediate);
  assert.equal(exchange.refusedBy, 'cut:looks');
});

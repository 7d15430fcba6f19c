import assert from 'node:assert/strict';
import type { RuntimePorts, SharedPorts } from '../../src/modules/contract/keeps-state.ts';
import type { LoginRecords } from '../../src/modules/contract/login-store.ts';
import type { PreparePorts } from '../../src/modules/contract/prepare.ts';

/** Ports that perform nothing: a module that has them has no effect. A test replaces those that it looks at. */
export function inertPorts(ports: Partial<RuntimePorts & SharedPorts> = {}): RuntimePorts & SharedPorts {
  return {
    clock: { nowMs: () => Date.now() },
    timers: { every: () => () => {}, sleep: () => Promise.resolve() },
    log: { info() {}, warn() {}, error() {} },
    network: {
      isAddressAllowed: () => false,
      createFetch: () => () => Promise.reject(new Error('no request is made')),
    },
    records: { list: () => [], add: () => Promise.resolve(), remove: () => Promise.resolve() },
    followed: {
      all: () => [],
      get: () => undefined,
      onChange: () => () => {},
      write: () => Promise.resolve(true),
      remove: () => Promise.resolve(),
      refresh: () => Promise.resolve(),
      catchUp: () => Promise.resolve(),
      isCurrent: () => true,
      recompile: () => {},
    },
    logins: idleLogins(),
    attempts: {
      redeem: () => Promise.resolve(null),
      guess: () => assert.fail('the test guesses nothing'),
      checkPassword: () => 'wrong',
    },
    ownIssuer: null,
    event() {},
    mac: () => '',
    seal: () => '',
    open: () => null,
    newId: (prefix) => `${prefix}_1`,
    randomText: (bytes) => 'A'.repeat(Math.ceil((bytes * 4) / 3)),
    ownConfigs: () => [],
    nodeMemory: () => assert.fail('the test has no memory of the node'),
    shared: (definition) => assert.fail(`the test shares no ${definition.name}`),
    counter: () => () => {},
    ...ports,
  };
}

/** Ports of a module that is prepared by a test, on a route of an operator, without records and without a runtime. */
export function preparePorts(ports: Partial<PreparePorts> = {}): PreparePorts {
  const { children = () => [] } = ports;
  return {
    record: () => undefined,
    children,
    childTable: (table, parent) =>
      children(table.kind, parent).reduce((value, child) => table.changed(value, null, child), table.empty),
    addressLists: { of: () => ({ problem: 'the test loads no list' }) },
    askedClaims: () => [],
    configuredBy: 'operator',
    settings: {},
    place: { kind: 'https_edge_route', edgeId: 'edghts_1', routeId: 'edghtsrt_1' },
    runtime: null,
    ...ports,
  };
}

/** A store of logins in which nothing ever happens. */
export function idleLogins(logins: Partial<LoginRecords> = {}): LoginRecords {
  const idle: Partial<LoginRecords> = {
    onChanged: () => () => {},
    onForeignChange: () => () => {},
    onReset: () => () => {},
    currentSeq: () => Promise.resolve(0),
    listEdgeIds: () => Promise.resolve([]),
    isShared: false,
    threads: null,
    ...logins,
  };
  return idle as LoginRecords;
}

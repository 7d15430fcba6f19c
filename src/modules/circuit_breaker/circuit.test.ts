import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { inertPorts } from '../../../test/support/inert-ports.ts';
import { trafficRequest } from '../../../test/support/traffic-request.ts';
import { isPass, type TrafficRequest } from '../contract/decides.ts';
import type { BackendOutcome } from '../contract/prepared-module.ts';
import { breakCircuit } from './circuit-breaker.ts';
import { CircuitBreakerRuntime } from './circuit-breaker-runtime.ts';
import { CircuitTable, circuitStateOf } from './circuit-table.ts';

const PLACE = { kind: 'https_edge_route', edgeId: 'edghts_1', routeId: 'edghtsrt_1' };
const THREADS = 2;

interface Config {
  readonly enabled: boolean;
  readonly error_threshold_percentage: number;
  readonly tripped_duration: number;
  readonly rolling_window: number;
  readonly num_buckets: number;
  readonly volume_threshold: number;
}

/** The circuit of a route as plain data: every request that was counted, by when. */
class Model {
  readonly #config: Config;
  #counted: { readonly part: number; readonly isFailure: boolean }[] = [];
  #latest = 0;
  #closedAtMs = 0;
  readonly #probes = new Set<TrafficRequest>();
  #open: {
    trippedAtMs: number;
    last: { atMs: number; by: string; isRunning: boolean } | null;
    probes: TrafficRequest[];
  } | null = null;

  constructor(config: Config) {
    this.#config = config;
  }

  get isOpen(): boolean {
    return this.#open !== null;
  }

  admit(request: TrafficRequest, nowMs: number): 'closed' | 'probe' | 'open' {
    const open = this.#open;
    if (open === null) return 'closed';
    open.trippedAtMs = Math.min(open.trippedAtMs, nowMs);
    const trippedMs = this.#config.tripped_duration * 1000;
    if (nowMs - open.trippedAtMs < trippedMs) return 'open';
    const by = request.clientAddress;
    const probedMs = open.last === null ? -1 : nowMs - open.last.atMs;
    const waitsMs = open.last?.by === by ? 2_000 : open.last?.isRunning === true ? 1_000 : 0;
    if (probedMs >= 0 && probedMs < waitsMs) return 'open';
    open.last = { atMs: nowMs, by, isRunning: true };
    open.probes.push(request);
    this.#probes.add(request);
    return 'probe';
  }

  settle(request: TrafficRequest, outcome: BackendOutcome, nowMs: number): void {
    const open = this.#open;
    if (outcome === 'none' && !this.#probes.has(request)) return;
    this.#closedAtMs = Math.min(this.#closedAtMs, nowMs);
    if (request.nowMs < this.#closedAtMs) return;
    if (open === null) {
      if (outcome !== 'none') this.#count(outcome !== 'served', nowMs);
      return;
    }
    if (!open.probes.includes(request)) return;
    if (open.probes.at(-1) === request && open.last !== null) open.last.isRunning = false;
    if (outcome === 'served') {
      this.#open = null;
      this.#closedAtMs = nowMs;
      this.#counted = [];
    } else if (outcome !== 'none') this.#open = { trippedAtMs: nowMs, last: null, probes: [] };
  }

  #count(isFailure: boolean, nowMs: number): void {
    const { num_buckets: buckets, rolling_window: seconds, volume_threshold: volume } = this.#config;
    const part = Math.floor(nowMs / ((seconds * 1000) / buckets));
    if (part < this.#latest) this.#counted = this.#counted.filter((each) => each.part <= part);
    this.#latest = part;
    this.#counted.push({ part, isFailure });
    const window = this.#counted.filter((each) => each.part > part - buckets);
    this.#counted = window;
    const failures = window.filter((each) => each.isFailure).length;
    const isTripped = failures > 0 && failures / window.length >= this.#config.error_threshold_percentage;
    if (isTripped && window.length >= Math.max(1, volume)) this.#open = { trippedAtMs: nowMs, last: null, probes: [] };
  }
}

const config = fc.record({
  enabled: fc.constant(true),
  error_threshold_percentage: fc.constantFrom(0, 0.2, 0.5, 0.9, 1),
  tripped_duration: fc.integer({ min: 1, max: 5 }),
  rolling_window: fc.integer({ min: 1, max: 6 }),
  num_buckets: fc.integer({ min: 1, max: 7 }),
  volume_threshold: fc.integer({ min: 0, max: 5 }),
});

const START = fc.record({
  what: fc.constant('start' as const),
  thread: fc.nat(THREADS - 1),
  from: fc.constantFrom('192.0.2.1', '192.0.2.2'),
});

const step = fc.oneof(
  { weight: 4, arbitrary: START },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant('end' as const),
      which: fc.nat(9),
      outcome: fc.constantFrom<BackendOutcome>('served', 'server_error', 'failed', 'none'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 3_000 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('wait' as const), ms: fc.integer({ min: -9_000, max: -1 }) }) },
);

function requestAt(nowMs: number, clientAddress = '192.0.2.1'): TrafficRequest {
  return { ...trafficRequest('GET', '/', () => undefined), nowMs, clientAddress };
}

/** Runtimes of several threads over one memory. */
function threadsOf(nowMs: () => number, memory: SharedArrayBuffer) {
  const events: string[] = [];
  const runtimes = Array.from(
    { length: THREADS },
    (_, thread) =>
      new CircuitBreakerRuntime(
        inertPorts({
          clock: { nowMs },
          nodeMemory: () => ({ memory, thread }),
          event: (type, { cause = '' }) => void events.push(`${type} ${cause as string}`.trim()),
        }),
      ),
  );
  return { runtimes, events };
}

test('decides as a plain model does, whatever the clock does and whichever thread is asked', () => {
  fc.assert(
    fc.property(config, fc.array(step, { minLength: 60, maxLength: 120, size: 'max' }), (settings, steps) => {
      let nowMs = 1_700_000_000_000;
      const memory = CircuitTable.memory(8);
      const { runtimes, events } = threadsOf(() => nowMs, memory);
      const hooks = runtimes.map((runtime) => breakCircuit(settings, PLACE, runtime));
      const model = new Model(settings);
      const running: { readonly request: TrafficRequest; readonly thread: number }[] = [];
      let changes = 0;
      for (const each of steps) {
        const wasOpen = model.isOpen;
        if (each.what === 'wait') nowMs += each.ms;
        else if (each.what === 'start') {
          const request = requestAt(nowMs, each.from);
          const asked = hooks[each.thread]?.judge?.(request);
          const verdict = hooks[each.thread]?.admit?.(request);
          const expected = model.admit(request, nowMs);
          assert.deepEqual(asked, verdict, 'asking says what acting does');
          assert.ok(verdict !== undefined && !(verdict instanceof Promise));
          assert.equal(verdict.reason, expected);
          if (isPass(verdict)) running.push({ request, thread: each.thread });
        } else {
          const [ended] = running.splice(each.which % Math.max(1, running.length), 1);
          if (ended === undefined) continue;
          hooks[ended.thread]?.settled?.(ended.request, each.outcome);
          model.settle(ended.request, each.outcome, nowMs);
        }
        if (wasOpen !== model.isOpen) changes += 1;
        assert.equal(circuitStateOf(memory, PLACE.routeId, settings, nowMs).state !== 'closed', model.isOpen);
        assert.equal(events.length, changes, 'each change is reported once');
      }
    }),
    { numRuns: 300 },
  );
});

const DEFAULTS: Config = {
  enabled: true,
  error_threshold_percentage: 0.5,
  tripped_duration: 10,
  rolling_window: 10,
  num_buckets: 10,
  volume_threshold: 4,
};

function opened(settings = DEFAULTS) {
  const time = { nowMs: 1_700_000_000_000 };
  const memory = CircuitTable.memory(8);
  const { runtimes, events } = threadsOf(() => time.nowMs, memory);
  const hooksOf = (of: Config, thread = 0) => breakCircuit(of, PLACE, runtimes[thread] as CircuitBreakerRuntime);
  const ask = (hooks: ReturnType<typeof hooksOf>, outcome: BackendOutcome): string => {
    const request = requestAt(time.nowMs);
    const verdict = hooks.admit?.(request);
    assert.ok(verdict !== undefined && !(verdict instanceof Promise));
    hooks.settled?.(request, isPass(verdict) ? outcome : 'none');
    return verdict.reason;
  };
  const hooks = hooksOf(settings);
  for (let times = 0; times < 4; times += 1) assert.equal(ask(hooks, 'failed'), 'closed');
  assert.equal(ask(hooks, 'failed'), 'open');
  return { time, memory, runtimes, events, hooksOf, ask, hooks };
}

test('a configuration that is the same keeps the circuit, and a changed one starts closed', () => {
  const { runtimes, events, hooksOf, ask, memory, time } = opened();
  const routes = new Set([PLACE.routeId]);
  const same = hooksOf(DEFAULTS, 1);
  for (const runtime of runtimes) runtime.edgeChanged(PLACE.edgeId, routes);
  assert.equal(ask(same, 'served'), 'open');
  const changed = { ...DEFAULTS, volume_threshold: 5 };
  const others = runtimes.map((_, thread) => hooksOf(changed, thread));
  assert.equal(circuitStateOf(memory, PLACE.routeId, changed, time.nowMs).state, 'closed');
  for (const runtime of runtimes) runtime.edgeChanged(PLACE.edgeId, routes);
  for (const hooks of others) assert.equal(ask(hooks, 'served'), 'closed');
  assert.deepEqual(events, ['circuit_opened.v0', 'circuit_closed.v0 configuration']);
});

test('requests from before a circuit opened do not count when it has closed again', () => {
  const time = { nowMs: 1_700_000_000_000 };
  const { runtimes, events } = threadsOf(() => time.nowMs, CircuitTable.memory(8));
  const hooks = breakCircuit(DEFAULTS, PLACE, runtimes[0] as CircuitBreakerRuntime);
  const begin = (): TrafficRequest => {
    const request = requestAt(time.nowMs);
    void hooks.admit?.(request);
    return request;
  };
  const [slow, fast] = [Array.from({ length: 9 }, begin), Array.from({ length: 4 }, begin)];
  for (const request of fast) hooks.settled?.(request, 'failed');
  time.nowMs += 10_000;
  hooks.settled?.(begin(), 'served');
  for (const request of slow) hooks.settled?.(request, 'failed');
  assert.deepEqual(events, ['circuit_opened.v0', 'circuit_closed.v0 probe']);
});

test('a visitor whose probes never end leaves the next one to others', () => {
  const { time, hooks } = opened();
  const ask = (from: string): string => {
    const verdict = hooks.admit?.(requestAt(time.nowMs, from));
    assert.ok(verdict !== undefined && !(verdict instanceof Promise));
    return verdict.reason;
  };
  time.nowMs += 10_000;
  assert.equal(ask('2001:db8::1'), 'probe');
  for (let round = 0; round < 3; round += 1) {
    for (let ms = 0; ms < 2_000; ms += 50) {
      assert.equal(ask('2001:db8::2'), 'open', 'the same /64');
      if (ms < 1_000) assert.equal(ask('192.0.2.1'), 'open');
      time.nowMs += 50;
    }
    assert.equal(ask('2001:db8::3'), 'probe', 'nobody else has asked');
  }
  time.nowMs += 1_000;
  assert.equal(ask('2001:db8::1'), 'open');
  assert.equal(ask('192.0.2.1'), 'probe');
});

test('requests of a replaced configuration do not count for the next one', () => {
  const { runtimes, events, hooks, hooksOf, ask, memory, time } = opened();
  time.nowMs += 10_000;
  const probe = requestAt(time.nowMs);
  const verdict = hooks.admit?.(probe);
  assert.ok(verdict !== undefined && !(verdict instanceof Promise));
  assert.equal(verdict.reason, 'probe');
  time.nowMs += 1;
  const changed = { ...DEFAULTS, volume_threshold: 5 };
  const next = hooksOf(changed);
  for (const runtime of runtimes) runtime.edgeChanged(PLACE.edgeId, new Set([PLACE.routeId]));
  for (let times = 0; times < 5; times += 1) ask(next, 'failed');
  hooks.settled?.(probe, 'served');
  assert.equal(circuitStateOf(memory, PLACE.routeId, changed, time.nowMs).state, 'open');
  assert.deepEqual(events, ['circuit_opened.v0', 'circuit_closed.v0 configuration', 'circuit_opened.v0']);
});

test('a module that is deleted or disabled has no circuit, and what still runs changes nothing', () => {
  const { runtimes, events, hooks, hooksOf, ask, memory, time } = opened();
  for (const runtime of runtimes) runtime.edgeChanged(PLACE.edgeId, new Set());
  assert.equal(circuitStateOf(memory, PLACE.routeId, DEFAULTS, time.nowMs).state, 'closed');
  for (let times = 0; times < 9; times += 1) ask(hooks, 'failed');
  assert.deepEqual(events, ['circuit_opened.v0', 'circuit_closed.v0 configuration']);
  const again = hooksOf(DEFAULTS);
  assert.equal(ask(again, 'served'), 'closed');
});

test('a question claims nothing, and more routes than places count by thread', () => {
  const memory = CircuitTable.memory(1);
  const { runtimes } = threadsOf(() => 1_700_000_000_000, memory);
  const before = Buffer.from(memory.slice(0));
  const on = (routeId: string) => breakCircuit(DEFAULTS, { ...PLACE, routeId }, runtimes[0] as CircuitBreakerRuntime);
  const request = trafficRequest('GET', '/', () => undefined);
  for (let times = 0; times < 1_000; times += 1) void on(PLACE.routeId).judge?.(request);
  assert.deepEqual(Buffer.from(memory.slice(0)), before);
  const [first, second] = [on('edghtsrt_1'), on('edghtsrt_2')];
  for (const hooks of [first, second]) {
    for (let times = 0; times < 4; times += 1) {
      assert.ok(isPass(hooks.admit?.(request) as never));
      hooks.settled?.(request, 'failed');
    }
    assert.ok(!isPass(hooks.admit?.(request) as never));
  }
});

test('a thread that ends while it changes a circuit holds up no other', () => {
  const { memory, ask, hooks } = opened();
  const words = new Int32Array(memory);
  // As if thread 1 had all locks.
  const table = new CircuitTable(memory, 1);
  const slot = table.claim(PLACE.routeId, 1);
  assert.ok(slot !== null);
  table.change(slot, () => {
    const held = words.slice();
    CircuitTable.threadEnded(memory, 1);
    assert.notDeepEqual(words.slice(), held);
  });
  assert.equal(ask(hooks, 'served'), 'open');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createStartCommand } from '../../src/app/cli/agent/start-command.ts';
import { createTunnelCommand } from '../../src/app/cli/agent/tunnel-command.ts';
import { widthOf } from '../../src/app/cli/output/styled-text.ts';
import { isLong } from '../support/share-of-cases.ts';
import { ESC, Screen } from './agent-screen.ts';
import { AgentWorld, type AgentWorldOptions } from './agent-world.ts';

const URL = 'https://calm-otter-k3v9x2aqhm.tunnels.example.com';
/** Time until the view has drawn a change. */
const DRAWN_MS = 100;

async function viewed(options: AgentWorldOptions = {}, isMany = false) {
  const files = {
    'postern-agent.yaml': 'version: 2\ntunnels:\n  web: { proto: http, addr: 1 }\n  db: { proto: tcp, addr: 2 }\n',
  };
  const world = new AgentWorld({ isTerminal: true, files, ...options });
  const exit = isMany
    ? world.run(createStartCommand(world.ports), ['--all'])
    : world.run(createTunnelCommand('http', world.ports), ['3000']);
  const agent = await world.agent();
  const screenOf = (): Screen => {
    const screen = new Screen(world.size.columns, world.size.rows);
    screen.write(world.written);
    assert.ok(!screen.hasScrolled);
    return screen;
  };
  return { world, exit, agent, screenOf };
}

test('the view shows status, server, latency, inspector, addresses, counts and the last requests', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { world, exit, agent, screenOf } = await viewed({ size: { columns: 100, rows: 14 } });
  agent.tellStatus('online');
  agent.bind(0, URL);
  agent.roundTripMs = 12.4;
  agent.active = 1;
  agent.request('/old', 200);
  agent.request('/made', 201, { method: 'POST' });
  agent.request('/away', 502, { problem: 'refused' });
  t.mock.timers.tick(DRAWN_MS);
  const screen = screenOf();
  assert.ok(screen.isAlternate && screen.isCursorHidden && !screen.doesWrap);
  const time = new Date(world.nowMs).toTimeString().slice(0, 8);
  const row = (method: string, path: string, status: number) =>
    `${`${time}  ${method.padEnd(7)} ${path}`.padEnd(87)}${status}     12 ms`;
  assert.deepEqual(screen.lines(), [
    `postern 1.2.3${' '.repeat(73)}Ctrl-C to stop`,
    '',
    'Status          online',
    'Server          127.0.0.1:7444, region local',
    'Latency         12 ms',
    'Web interface   http://127.0.0.1:7040',
    `Forwarding      ${URL} → 3000`,
    'Traffic         3 requests, 1 open',
    '',
    'Last requests',
    row('GET', '/away  refused', 502),
    row('POST', '/made', 201),
    row('GET', '/old', 200),
    '',
  ]);
  world.signal();
  assert.equal(await exit, 0);
});

test('shows on which of several nodes the connections are', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { world, exit, agent, screenOf } = await viewed();
  agent.tellStatus('online');
  const nodes = ['fra-1', 'fra-2'].map((name) => ({ id: `nd_${name}`, name }));
  agent.tell({ type: 'nodes', nodes });
  t.mock.timers.tick(DRAWN_MS);
  assert.equal(screenOf().lines()[4], 'Nodes           fra-1, fra-2');
  world.signal();
  assert.equal(await exit, 0);
});

test('shows a lost server with a countdown to the next attempt', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { world, exit, agent, screenOf } = await viewed();
  agent.tellStatus('online');
  agent.bind(0, URL);
  agent.tellStatus('reconnecting', { reason: 'it fell silent', nextTryMs: 8_000 });
  t.mock.timers.tick(DRAWN_MS);
  assert.equal(screenOf().lines()[2], 'Status          reconnecting: it fell silent; retrying in 8 s');
  world.nowMs += 5_000;
  t.mock.timers.tick(1_000);
  assert.equal(screenOf().lines()[2], 'Status          reconnecting: it fell silent; retrying in 3 s');
  agent.tellStatus('online');
  t.mock.timers.tick(DRAWN_MS);
  assert.equal(screenOf().lines()[2], 'Status          online');
  world.signal();
  await exit;
});

test('writes nothing when nothing has changed, and repaints what was typed over it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { world, exit, agent, screenOf } = await viewed();
  agent.tellStatus('online');
  t.mock.timers.tick(1_000);
  const before = world.written;
  t.mock.timers.tick(3_000);
  assert.equal(world.written, before);
  world.written += 'qqq';
  t.mock.timers.tick(1_000);
  assert.equal(screenOf().lines().join('\n').includes('qqq'), false);
  // A storm of events takes a few frames.
  const length = world.written.length;
  for (let count = 0; count < 10_000; count += 1) agent.request(`/${count}`, 200);
  t.mock.timers.tick(DRAWN_MS);
  assert.ok(world.written.length - length < 5_000);
  assert.match(screenOf().lines().join('\n'), /10000 requests/);
  world.signal();
  await exit;
});

test('restores the terminal at the end, before Ctrl-Z, and in a crash', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { world, exit, agent, screenOf } = await viewed();
  const isGivenBack = (): boolean => {
    const { isAlternate, isCursorHidden, doesWrap } = screenOf();
    assert.equal(isAlternate, isCursorHidden);
    assert.equal(isAlternate, !doesWrap);
    return !isAlternate;
  };
  agent.tellStatus('online');
  world.suspend();
  assert.ok(isGivenBack());
  agent.request('/meanwhile', 200);
  t.mock.timers.tick(2_000);
  assert.ok(isGivenBack());
  world.resume();
  assert.ok(!isGivenBack());
  assert.match(screenOf().lines().join('\n'), /\/meanwhile/);
  world.crash();
  assert.ok(isGivenBack());
  world.resume();
  world.signal();
  assert.equal(await exit, 0);
  assert.ok(isGivenBack());
  const { written } = world;
  t.mock.timers.tick(10_000);
  assert.equal(world.written, written, 'nothing is drawn after the end');
  assert.equal(world.leftListeners, 0);
  assert.deepEqual(world.stdout, ['postern: stopped after 1 request and 0 connections']);
});

test('shows why it ended on the restored screen', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { world, exit, agent } = await viewed({}, true);
  agent.refuse(0, 'the acl does not allow it');
  agent.refuse(1, 'no port is free', 'ERR_POSTERN_TUNNEL_PORT');
  agent.tellStatus('stopped', { reason: 'the acl does not allow it', code: 'ERR_POSTERN_TUNNEL_REFUSED' });
  assert.equal(await exit, 1);
  assert.deepEqual(world.stderr, [
    'postern: web: rejected: the acl does not allow it',
    'postern: db: rejected: no port is free',
    'postern: stopped: no tunnels left',
  ]);
});

test('the view follows the size of the terminal, from 40 columns to 200', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { world, exit, agent, screenOf } = await viewed({}, true);
  agent.tellStatus('online');
  agent.bind(0, URL);
  agent.refuse(1, 'no port is free, all of 20000 to 20099 are taken by tunnels of others');
  for (let count = 0; count < 60; count += 1) agent.request(`/${'long/'.repeat(60)}${count}`, 200);
  for (let columns = 40; columns <= 200; columns += isLong ? 7 : 32) {
    for (const rows of [8, 24, 60]) {
      world.written = '';
      world.resize(columns, rows);
      const lines = screenOf().lines();
      if (rows < 24) continue;
      // Wrapped at any width, but complete: users copy addresses.
      assert.ok(
        lines
          .map((line) => line.trim())
          .join('')
          .includes(`${URL} →`) || lines.join('').replaceAll(' ', '').includes(`${URL}→`),
      );
      assert.match(lines.map((line) => line.trim()).join(' '), /taken by tunnels of others/);
      assert.match(lines.join('\n'), /60 requests/);
      if (rows === 60) assert.ok(lines.filter((line) => / GET|^GET .*\/long.* 200 +12 ms$/.test(line)).length > 20);
    }
  }
  world.signal();
  await exit;
});

test('keeps every line within the width and lets no escape sequence through', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { world, exit, agent } = await viewed({ env: { POSTERN_AUTHTOKEN: 'token', NO_COLOR: '1' } });
  const hostile = fc.string({
    unit: fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      fc.constantFrom('\x1b[2J', '\r\n', '漢', '\u202e', '👩‍👩‍👧', '\x9b', '\t'),
    ),
  });
  const size = fc.record({ columns: fc.integer({ min: 1, max: 200 }), rows: fc.integer({ min: 1, max: 60 }) });
  fc.assert(
    fc.property(hostile, hostile, size, (one, other, { columns, rows }) => {
      agent.bind(0, one);
      agent.request(one, 200, { method: other });
      agent.tellStatus('reconnecting', { reason: other, nextTryMs: 5 });
      world.written = '';
      world.resize(columns, rows);
      const frame = world.written.replaceAll(new RegExp(`${ESC}\\[(\\?2026[hl]|[HKJ])`, 'g'), '');
      assert.doesNotMatch(frame.replaceAll('\r\n', ''), /[\p{Cc}\p{Cf}]/u);
      const lines = frame.split('\r\n');
      assert.ok(lines.length <= rows, `${lines.length} lines on ${rows} rows`);
      assert.deepEqual(
        lines.filter((line) => widthOf(line) > columns),
        [],
      );
    }),
    { numRuns: isLong ? 100 : 25 },
  );
  world.signal();
  await exit;
});

test('prints lines on a dumb terminal', async () => {
  const { world, exit, agent } = await viewed({ env: { POSTERN_AUTHTOKEN: 'token', TERM: 'dumb' } });
  agent.tellStatus('online');
  world.signal();
  await exit;
  assert.equal(world.written, '');
  assert.match(world.stdout.join('\n'), /online at 127\.0\.0\.1:7444/);
});

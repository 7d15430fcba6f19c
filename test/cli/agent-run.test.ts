import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStartCommand } from '../../src/app/cli/agent/start-command.ts';
import { createTunnelCommand } from '../../src/app/cli/agent/tunnel-command.ts';
import { reportBug } from '../../src/kit/guarded-listeners.ts';
import { AgentError } from '../../src/tunnel/agent/errors.ts';
import type { AgentTunnel } from '../../src/tunnel/agent/handle.ts';
import { AgentWorld, type AgentWorldOptions, type ScriptedAgent } from './agent-world.ts';

const TWO_TUNNELS = 'version: 2\ntunnels:\n  web: { proto: http, addr: 1 }\n  api: { proto: http, addr: 2 }\n';

async function started(args: readonly string[] = [], options: AgentWorldOptions = {}) {
  const world = new AgentWorld(options);
  const exit = world.run(createTunnelCommand('http', world.ports), ['3000', ...args]);
  return { world, exit, agent: await world.agent() };
}

async function startedTwo(args: readonly string[] = []) {
  const world = new AgentWorld({ files: { 'postern-agent.yaml': TWO_TUNNELS } });
  const exit = world.run(createStartCommand(world.ports), ['--all', ...args]);
  return { world, exit, agent: await world.agent() };
}

test('a signal closes cleanly: exit code 0, no listener left behind', async () => {
  const { world, exit, agent } = await started();
  agent.tellStatus('online');
  world.signal();
  // The launcher forwards the same Ctrl-C.
  world.signal();
  assert.equal(await exit, 0);
  assert.deepEqual(world.exits, [0]);
  assert.equal(world.leftListeners, 0);
  assert.match(world.stdout.at(-1) ?? '', / info {2}stopped$/);
});

test('an exception without an owner closes cleanly and exits with 1', async () => {
  const { world, exit, agent } = await started();
  agent.tellStatus('online');
  world.fail(new Error('injected'));
  world.fail(new Error('a second one'));
  assert.equal(await exit, 1);
  assert.deepEqual(world.exits, [1]);
  assert.equal(world.leftListeners, 0);
  assert.match(world.stderr.join('\n'), /uncaught exception.*injected.*a second one/s);
});

test('reports a contained bug, and the agent continues', async () => {
  const { world, exit, agent } = await started();
  agent.tellStatus('online');
  reportBug(new Error('injected'), {});
  world.signal();
  assert.equal(await exit, 0);
  assert.match(world.stdout.join('\n'), / warn .*a bug was contained.*injected/);
});

test('a second signal ends immediately', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const { world, exit, agent } = await started();
  const closing = Promise.withResolvers<void>();
  agent.closed = closing.promise;
  world.signal();
  // Longer than the launcher needs to forward a signal, by the clock used for signals.
  const startMs = performance.now();
  t.mock.method(performance, 'now', () => startMs + 1_000);
  world.signal();
  assert.deepEqual(world.exits, [1]);
  closing.resolve();
  await exit;
});

test('does not report earlier problems as the reason of a requested stop', async () => {
  const { world, exit, agent } = await started();
  agent.close = async () => {
    agent.tellStatus('stopped', { reason: 'nothing listens at 127.0.0.1:7444', code: 'ERR_POSTERN_AGENT_UNREACHABLE' });
  };
  world.signal();
  assert.equal(await exit, 0);
  assert.match(world.stdout.at(-1) ?? '', / info {2}stopped$/);
});

test('a wrong token exits with 1 and advice', async () => {
  const { world, exit, agent } = await started();
  agent.tellStatus('stopped', { reason: 'this server does not know the agent token', code: 'ERR_POSTERN_AGENT_TOKEN' });
  assert.equal(await exit, 1);
  assert.deepEqual(world.exits, [1]);
  assert.match(
    world.stdout.at(-1) ?? '',
    /error stopped: this server does not know the agent token; set the right one in POSTERN_AUTHTOKEN, .*configuration file$/m,
  );
});

test('a stop by the server exits with 0', async () => {
  const { world, exit, agent } = await started();
  agent.tell({ type: 'command', command: 'stop', isAccepted: true });
  agent.tellStatus('stopped', { reason: 'it was stopped through the server', code: 'ERR_POSTERN_AGENT_STOPPED' });
  assert.equal(await exit, 0);
  assert.match(
    world.stdout.join('\n'),
    /info {2}the server asked this agent to stop\n.*info {2}stopped: it was stopped through the server/,
  );
});

test('reports one refused tunnel and continues with the other, and ends when both are refused', async () => {
  const { world, exit, agent } = await startedTwo();
  agent.tellStatus('online');
  agent.bind(0, 'https://a.example.com');
  agent.refuse(1, 'the acl of this credential does not allow b.example.com.');
  assert.match(
    world.stdout.at(-1) ?? '',
    / error api: rejected: the acl of this credential does not allow b\.example\.com$/,
  );
  await new Promise(setImmediate);
  assert.deepEqual([world.exits, agent.closes], [[], 0]);
  agent.refuse(0, 'an edge took the name');
  assert.equal(await exit, 1);
  assert.equal(agent.closes, 1);
});

test('prints lines for a whole life', async () => {
  const { world, exit, agent } = await started();
  life(agent);
  world.signal();
  await exit;
  assert.deepEqual(world.stdout, [
    '12:00:00 info  inspector at http://127.0.0.1:7040',
    '12:00:00 info  connecting to 127.0.0.1:7444',
    '12:00:00 warn  not connected: nothing listens there; retrying now',
    '12:00:00 info  online at 127.0.0.1:7444, region local',
    '12:00:00 info  http: https://x.localhost:7443 → 3000',
    '12:00:00 info  http: GET /a\\u001b[2Jb 200 12 ms',
    '12:00:00 warn  http: GET / aborted 12 ms: the client went away',
    '12:00:00 info  http: connection from 192.0.2.7:5 opened',
    '12:00:00 warn  http: connection from 192.0.2.7:6 failed: refused',
    '12:00:00 warn  disconnected: it fell silent; retrying in 2 s',
    '12:00:00 info  online again at 127.0.0.1:7444, region local',
    "12:00:00 warn  rejected the server's request to restart: remote management is off",
    '12:00:00 info  stopping after open requests finish',
    '12:00:00 info  stopped',
  ]);
});

test('as JSON every line is an object with level, time and message', async () => {
  const { world, exit, agent } = await started(['--log-format', 'json', '--log-level', 'debug'], { isTerminal: true });
  life(agent);
  agent.tell({ type: 'nodes', nodes: [{ id: 'nd_1', name: 'fra-1' }] });
  world.signal();
  await exit;
  assert.equal(world.written, '', 'lines that were asked for are lines on a terminal too');
  const lines = world.stdout.map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const line of lines) {
    assert.match(String(line['level']), /^(debug|info|warn|error)$/);
    assert.equal(line['time'], '2026-11-15T12:00:00.000Z');
    assert.equal(typeof line['msg'], 'string');
  }
  const request = lines.find(({ event }) => event === 'request');
  assert.deepEqual(request, {
    level: 'info',
    time: '2026-11-15T12:00:00.000Z',
    msg: 'http: GET /a\\u001b[2Jb 200 12 ms',
    event: 'request',
    tunnel: 'http',
    method: 'GET',
    path: '/a\u001b[2Jb',
    status: 200,
    duration_ms: 12,
    bytes_in: 1,
    bytes_out: 2,
  });
  assert.ok(lines.some(({ event, phase }) => event === 'connection' && phase === 'closed'));
  const nodes = lines.find(({ event }) => event === 'nodes');
  assert.deepEqual([nodes?.['msg'], nodes?.['nodes']], ['connected to node fra-1 only', ['fra-1']]);
});

test('the level chooses lines', async () => {
  const { world, exit, agent } = await started(['--log-level', 'warn']);
  life(agent);
  world.signal();
  await exit;
  assert.equal(world.stdout.length, 5);
  assert.ok(world.stdout.every((line) => / warn {2}/.test(line)));
});

test('does not repeat the same reason', async () => {
  const { world, exit, agent } = await started();
  const before = world.stdout.length;
  const fail = (reason: string) => agent.tellStatus('reconnecting', { reason, nextTryMs: 2_000 });
  for (let count = 0; count < 5; count += 1) fail('nothing listens');
  assert.equal(world.stdout.length, before + 1);
  fail('the name cannot be resolved');
  assert.equal(world.stdout.length, before + 2);
  assert.match(world.stdout.at(-2) ?? '', /disconnected: nothing listens; retrying in 2 s$/);
  assert.match(world.stdout.at(-1) ?? '', /still disconnected: the name cannot be resolved; retrying in 2 s$/);
  world.nowMs += 60_000;
  fail('the name cannot be resolved');
  assert.equal(world.stdout.length, before + 3, 'but once a minute');
  agent.tellStatus('online');
  fail('the name cannot be resolved');
  assert.equal(world.stdout.length, before + 5, 'and after every loss');
  world.signal();
  await exit;
});

test('starts without an inspector that cannot listen, unless its address was requested', async () => {
  const startInspector = () =>
    Promise.reject(new AgentError('ERR_POSTERN_AGENT_INSPECTOR', 'the inspector cannot listen'));
  const { world, exit } = await started([], { startInspector });
  world.signal();
  assert.equal(await exit, 0);
  assert.match(world.stdout[0] ?? '', /warn {2}the inspector cannot listen; continuing without the inspector$/);

  const other = new AgentWorld({ startInspector });
  const command = createTunnelCommand('http', other.ports);
  await assert.rejects(other.run(command, ['3000', '--inspect-addr', '127.0.0.1:1']), {
    code: 'ERR_POSTERN_AGENT_INSPECTOR',
  });
  assert.equal(other.agents.length, 0);
  assert.equal(other.leftListeners, 0);
});

test('passes options to the inspector, and its observer to the agent', async () => {
  const observe = () => null;
  let closes = 0;
  const { world, exit, agent } = await started(['--inspect-addr', '192.0.2.1:7040'], {
    startInspector: () =>
      Promise.resolve({
        url: 'http://192.0.2.1:7041',
        isOtherPort: true,
        observe,
        close: async () => {
          closes += 1;
        },
      }),
  });
  assert.equal(agent.options.observe, observe);
  const [inspector] = world.inspectors;
  assert.deepEqual(inspector?.allowedHosts, ['192.0.2.1']);
  assert.equal(inspector?.tunnels(), agent.tunnels);
  assert.equal(inspector?.status(), agent);
  assert.match(world.stdout[0] ?? '', /inspector at http:\/\/192\.0\.2\.1:7041 \(port 7040 is in use\)$/);
  world.signal();
  await exit;
  assert.equal(closes, 1);
});

function life(agent: ScriptedAgent): void {
  const tunnel = agent.tunnels[0] as AgentTunnel;
  agent.tellStatus('connecting');
  agent.tellStatus('connecting', { reason: 'nothing listens there', nextTryMs: 300 });
  agent.tellStatus('online');
  agent.bind(0, 'https://x.localhost:7443');
  agent.request('/a\u001b[2Jb', 200);
  agent.request('/', 0, { problem: 'the client went away' });
  agent.tell({ type: 'connection', tunnel, phase: 'opened', clientAddress: '192.0.2.7:5', problem: null });
  agent.tell({ type: 'connection', tunnel, phase: 'closed', clientAddress: '192.0.2.7:5', problem: null });
  agent.tell({ type: 'connection', tunnel, phase: 'failed', clientAddress: '192.0.2.7:6', problem: 'refused' });
  agent.tellStatus('reconnecting', { reason: 'it fell silent', nextTryMs: 2_000 });
  agent.tellStatus('online');
  agent.tell({ type: 'command', command: 'restart', isAccepted: false });
}

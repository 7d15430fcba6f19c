import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { MAX_CONNECTIONS_PER_SESSION } from '../../../src/tunnel/protocol/protocol.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually } from '../support/fault-world.ts';
import { honestAgent } from '../support/honest-agent.ts';
import { closed, dial, helloOf, RawAgent } from '../support/raw-agent.ts';

const world = await TunnelWorld.open({ after });
const honest = await honestAgent({ after }, world);

/** The gateway's log lines about refused connections. */
function reasons(): string[] {
  const lines = world.edge.world.logLines.map((line) => JSON.parse(line) as { msg?: string; why?: string });
  return lines.filter(({ why }) => typeof why === 'string').map(({ why }) => why ?? '');
}

async function refusedWith(reason: RegExp): Promise<void> {
  await eventually(`a line in the log: ${reason}`, () => reasons().some((why) => reason.test(why)));
}

test('garbage instead of HTTP/2 ends the connection', async () => {
  const socket = await dial(world);
  socket.write(Buffer.alloc(4_096, 'garbage '));
  await closed(socket);
  await honest.check();
});

test('an HTTP/1.1 client at the gateway is disconnected', async () => {
  const socket = await dial(world);
  socket.write('GET / HTTP/1.1\r\nhost: gateway\r\n\r\n');
  await closed(socket);
});

const WRONG_LINES: readonly (readonly [string, string | Buffer, RegExp])[] = [
  ['garbage', '\u0000\u0001 garbage\n', /not JSON/],
  ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x0a]), /not JSON/],
  ['a list', '[1, 2]\n', /not an object with a type/],
  ['null', 'null\n', /not an object with a type/],
  ['a type that is no text', '{"t": 1}\n', /not an object with a type/],
  ['a hello with wrong fields', '{"t": "hello", "version": "one"}\n', /hello has a wrong or missing field/],
  ['a bind before hello', '{"t":"bind","ref":0,"proto":"https","metadata":"","forwards_to":""}\n', /first message/],
  ['a bye before hello', '{"t":"bye"}\n', /first message/],
  ['deep nesting', `{"t":"hello","metadata":${'['.repeat(20_000)}${']'.repeat(20_000)}}\n`, /wrong or missing field/],
  ['a line of 1 MB', Buffer.alloc(1_048_576, 'a'), /more than 65536 bytes/],
];
for (const [what, bytes, reason] of WRONG_LINES) {
  test(`${what} on the control stream ends the connection, with a reason in the log`, async () => {
    const agent = await RawAgent.open(world);
    agent.write(bytes);
    await agent.closed();
    await refusedWith(reason);
  });
}

test('hello twice ends the connection, and with it what the first one started', async () => {
  const agent = await RawAgent.greeted(world);
  const { session } = await agent.message('welcome');
  agent.say(helloOf(world.token));
  await agent.closed();
  await refusedWith(/hello twice/);
  const gone = async () => (await world.edge.world.api('GET', `/tunnel_sessions/${session}`)).status === 404;
  await eventually('the session is no longer listed', gone);
});

test('tokens cannot be guessed by many hellos on one connection', async () => {
  const agent = await RawAgent.open(world);
  for (let guess = 0; guess < 50; guess += 1) agent.say(helloOf(`guess-${guess}`));
  agent.say(helloOf(world.token));
  await agent.closed();
  assert.deepEqual(agent.received, [], 'a guess was answered');
});

test('a wrong and an empty token get advice', async () => {
  for (const token of ['wrong', '']) {
    const agent = await RawAgent.open(world);
    agent.say(helloOf(token));
    const { code, message, retry } = await agent.message('refused');
    assert.deepEqual([code, retry], ['ERR_POSTERN_AGENT_TOKEN', false]);
    assert.match(message, /check it, or create one/);
    await agent.closed();
  }
});

test('rejects another protocol version with both numbers', async () => {
  const agent = await RawAgent.open(world);
  agent.say(helloOf(world.token, { version: 2 }));
  const { code, message } = await agent.message('refused');
  assert.equal(code, 'ERR_POSTERN_AGENT_PROTOCOL');
  assert.match(message, /version 1, .*version 2/);
});

test('ignores an unknown type', async () => {
  const agent = await RawAgent.greeted(world);
  agent.say({ t: 'from_the_future', more: {} });
  const bound = await agent.bind({ labels: { from: 'future' } });
  assert.equal(bound.t, 'bound');
  agent.destroy();
});

test('a flood of control messages ends the connection', async () => {
  const agent = await RawAgent.greeted(world);
  const line = `${JSON.stringify({ t: 'unbind', ref: 9 })}\n`;
  agent.write(line.repeat(5_000));
  await agent.closed();
  await eventually('the gateway says why', () =>
    world.edge.world.logLines.some((each) => each.includes('too many control messages')),
  );
  await honest.check();
});

test('a flood of long messages ends sooner: the queue is also bounded in bytes', async () => {
  const agent = await RawAgent.greeted(world);
  const line = `${JSON.stringify({ t: 'bind', ref: 1, proto: 'tcp', domain: 'x', metadata: '', forwards_to: '', more: 'm'.repeat(60_000) })}\n`;
  // A fifth of the allowed number of short ones.
  for (let sent = 0; sent < 400; sent += 1) agent.write(line);
  await agent.closed();
  const answered = agent.received.filter(({ t }) => t === 'unbound').length;
  assert.ok(answered < 300, `${answered} were carried out`);
});

test('an agent that reads nothing cannot make the gateway queue responses for it', async () => {
  const agent = await RawAgent.greeted(world, {}, { initialWindowSize: 65_535 });
  agent.control.pause();
  const line = `${JSON.stringify({ t: 'bind', ref: 1, domain: `${'x'.repeat(200)}.test`, metadata: '', forwards_to: '' })}\n`;
  agent.write(line.repeat(1_500));
  // 1,500 responses of some 200 bytes are within the limit; the connection survives, and so do all others.
  await honest.check();
  agent.destroy();
});

test('does not wait longer than 10 s for a slow hello', async () => {
  const [silent, halfway] = [await RawAgent.open(world), await RawAgent.open(world)];
  halfway.write('{"t":"hello",');
  const began = performance.now();
  await Promise.all([silent.closed(60_000), halfway.closed(60_000)]);
  const tookMs = performance.now() - began;
  assert.ok(tookMs > 8_000, `${tookMs} ms`);
  await refusedWith(/did not send hello in time/);
});

test('limits the connections of an agent', async () => {
  const first = await RawAgent.greeted(world);
  const { session, secret } = await first.message('welcome');
  const join = { session, secret: secret ?? '' };
  const joined: RawAgent[] = [first];
  while (joined.length < MAX_CONNECTIONS_PER_SESSION) joined.push(await RawAgent.greeted(world, { join }));
  const more = await RawAgent.open(world);
  more.say(helloOf(world.token, { join }));
  const { code, message, retry } = await more.message('refused');
  assert.deepEqual([code, retry], ['ERR_POSTERN_AGENT_CONNECTIONS', true]);
  assert.match(message, /may have at most 16 connections.*: close some, or start another agent/);
  for (const agent of [...joined, more]) agent.destroy();
});

test('nothing of this is left', async () => {
  await honest.check();
  await eventually('only the honest agent is connected', async () => {
    const metrics = await world.edge.metrics();
    return /postern_gateway_connections 2\b/.test(metrics);
  });
});

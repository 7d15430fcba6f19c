import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { headerRelay } from '../support/header-relay.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';

const BALANCER = '127.0.0.9';
const HEADER = 'PROXY TCP4 203.0.113.7 192.0.2.1 49153 7444\r\n';
const world = await TunnelWorld.open({ after }, { POSTERN_PROXY_PROTOCOL_FROM: `${BALANCER}/32` });
const echo = createServer({ allowHalfOpen: true }, (socket) => socket.on('error', () => {}).pipe(socket));
await once(echo.listen(0, '127.0.0.1'), 'listening');
after(() => echo.close());
const addr = (echo.address() as AddressInfo).port;

function relay(to: number, mode?: 'joined' | 'bytes'): Promise<number> {
  return headerRelay({ after }, { to, header: HEADER, localAddress: BALANCER, ...(mode !== undefined && { mode }) });
}

/** Sends a word and reads it back; empty when the connection was closed instead. */
async function echoed(socket: Socket): Promise<string> {
  socket.on('error', () => {});
  socket.end('ping');
  let heard = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    heard += text;
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return heard;
}

suite('behind a load balancer with the PROXY protocol', () => {
  for (const mode of [undefined, 'joined', 'bytes'] as const) {
    test(`an agent's session has the agent's own address (${mode ?? 'header first'})`, async () => {
      const serverAddr = `127.0.0.1:${await relay(world.port, mode)}`;
      const agent = await world.agent([{ proto: 'tcp', addr }], { serverAddr });
      const session = await world.edge.api('GET', `/tunnel_sessions/${agent.sessionId}`);
      assert.equal(session.ip, '203.0.113.7');
      await agent.close();
    });
  }

  test("an agent's address is the peer's when it connects directly", async () => {
    const agent = await world.agent([{ proto: 'tcp', addr }]);
    const session = await world.edge.api('GET', `/tunnel_sessions/${agent.sessionId}`);
    assert.equal(session.ip, '127.0.0.1');
    await agent.close();
  });

  test('closes a connection from the balancer without a header', async () => {
    const socket = connect({ port: world.port, host: '127.0.0.1', localAddress: BALANCER });
    assert.equal(await echoed(socket), '');
    const counted = /refusals_total\{listener="tunnel",reason="missing"\} 1/;
    assert.match(await world.edge.metrics(), counted);
  });

  test('the port of a tcp tunnel applies IP rules to the client, and hides the header from the service', async () => {
    const modules = { ip_restriction: { allow: ['203.0.113.0/24'], deny: [] } };
    const agent = await world.agent([{ proto: 'tcp', addr, modules }]);
    const port = Number(new URL(agent.publicUrl ?? '').port);
    for (const mode of [undefined, 'joined', 'bytes'] as const) {
      assert.equal(await echoed(connect(await relay(port, mode), '127.0.0.1')), 'ping', String(mode));
    }
    assert.equal(await echoed(connect(port, '127.0.0.1')), '');
    assert.equal(await echoed(connect({ port, host: '127.0.0.1', localAddress: BALANCER })), '');
    // Three times four bytes, without the headers.
    assert.match(await world.edge.metrics(), /tunnel_bytes_total\{proto="tcp",direction="in"\} 12\b/);
    await agent.close();
  });

  test('a tls tunnel passes what follows the header, unread', async () => {
    const agent = await world.agent([{ proto: 'tls', addr }]);
    const { hostname } = new URL(agent.publicUrl ?? '');
    const raw = connect(await relay(world.edge.port, 'joined'), '127.0.0.1').on('error', () => {});
    // The service echoes the ClientHello, which is no ServerHello.
    const client = connectTls({ socket: raw, servername: hostname, rejectUnauthorized: false });
    const [error] = await once(client, 'error');
    assert.match(String(error), /unexpected message|wrong version/i);
    raw.destroy();
    await agent.close();
  });
});

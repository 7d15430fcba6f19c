import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { type ArrivalRefusal, type ArrivedClient, ArrivingClients } from './arriving-clients.ts';

async function open(t: TestContext, options: { proxies?: readonly string[]; timeoutMs?: number; maxWaiting?: number }) {
  const refusals: ArrivalRefusal[] = [];
  const arrived: ArrivedClient[] = [];
  const clients = new ArrivingClients({
    proxies: options.proxies ?? ['127.0.0.0/8'],
    timeoutMs: options.timeoutMs ?? 10_000,
    maxWaiting: options.maxWaiting ?? 10,
    onRefused: (refusal) => refusals.push(refusal),
  });
  const server = createServer((socket) =>
    clients.admit(socket, (client) => {
      arrived.push(client);
      // Echoes what follows the header.
      socket.pipe(socket);
    }),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const sockets: Socket[] = [];
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const dial = (text: string): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
    if (text !== '') socket.write(text);
    sockets.push(socket);
    return socket;
  };
  return { clients, refusals, arrived, dial };
}

suite('arriving clients', () => {
  test('are the connected peers when there are no proxies, at once', async (t) => {
    const { arrived, dial } = await open(t, { proxies: [] });
    const socket = dial('PROXY UNKNOWN\r\n');
    const [echo] = await once(socket, 'data');
    assert.equal(String(echo), 'PROXY UNKNOWN\r\n');
    assert.deepEqual(arrived, [{ address: '127.0.0.1', port: socket.localPort, waitedMs: 0, headerBytes: 0 }]);
  });

  test('get every byte after the header, and no byte of it', async (t) => {
    const { arrived, dial } = await open(t, {});
    const socket = dial('PROXY TCP4 203.0.113.7 192.0.2.1 49153 443\r\nfirst');
    assert.equal(String((await once(socket, 'data'))[0]), 'first');
    socket.write('second');
    assert.equal(String((await once(socket, 'data'))[0]), 'second');
    assert.deepEqual([arrived[0]?.address, arrived[0]?.port], ['203.0.113.7', 49_153]);
  });

  test('have a deadline that bytes now and then do not extend', async (t) => {
    const { refusals, clients, dial } = await open(t, { timeoutMs: 60 });
    const socket = dial('P').resume();
    const drip = setInterval(() => socket.write('x'), 10);
    // "P" and then "x" is no header: it must be refused even earlier.
    await closed(socket);
    clearInterval(drip);
    assert.equal(refusals[0]?.problem, 'missing');

    const silent = dial('PROXY UNKNOWN ').resume();
    const slow = setInterval(() => silent.write('y'), 20);
    await closed(silent);
    clearInterval(slow);
    assert.equal(refusals[1]?.problem, 'timeout');
    assert.equal(clients.waitingCount, 0);
  });

  test('are refused beyond the number that may wait', async (t) => {
    const { refusals, clients, dial } = await open(t, { maxWaiting: 2 });
    dial('PROXY ');
    dial('PROXY ');
    while (clients.waitingCount < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    const third = dial('PROXY UNKNOWN\r\n').resume();
    await closed(third);
    assert.deepEqual(refusals, [
      { proxy: '127.0.0.1', problem: 'limit', message: 'too many connections wait for their PROXY header' },
    ]);
  });

  test('that leave before their header ends are forgotten', async (t) => {
    const { refusals, clients, dial } = await open(t, {});
    dial('PROXY ').end();
    while (refusals.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(refusals[0]?.problem, 'closed');
    assert.equal(clients.waitingCount, 0);
  });

  test('are refused while the server shuts down', async (t) => {
    const { refusals, clients, dial } = await open(t, {});
    const waiting = dial('PROXY ').resume();
    while (clients.waitingCount < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    clients.close();
    await closed(waiting);
    const late = dial('PROXY UNKNOWN\r\n').resume();
    await closed(late);
    assert.deepEqual(
      refusals.map(({ problem }) => problem),
      ['draining', 'draining'],
    );
  });
});

/** A reset counts as well. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
  });
}

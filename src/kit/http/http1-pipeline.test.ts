import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { closing } from '../guarded-listeners.ts';
import { Http1Pipeline } from './http1-pipeline.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

/** A real server whose requests wait in one pipeline per connection, and are never answered. */
async function serve(context: TestContext, count: { waiting: number }) {
  const seen: { started: ServerResponse[]; parsed: number; pipelines: Set<Http1Pipeline> } = {
    started: [],
    parsed: 0,
    pipelines: new Set(),
  };
  const bySocket = new WeakMap<Socket, Http1Pipeline>();
  const server = createServer((request, response) => {
    const { socket } = request;
    const pipeline = bySocket.get(socket) ?? new Http1Pipeline(socket, { owner: closing(socket, 'test'), count });
    bySocket.set(socket, pipeline);
    seen.pipelines.add(pipeline);
    seen.parsed += 1;
    pipeline.serve(response, () => seen.started.push(response));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const dial = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
    context.after(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  return { seen, dial };
}

suite('the pipeline of an HTTP/1.1 connection', () => {
  test('stops reading while many wait, and reads again when they are served', async (context) => {
    const count = { waiting: 0 };
    const { seen, dial } = await serve(context, count);
    const socket = await dial();
    for (let at = 0; at < 20; at += 1) socket.write(GET.repeat(40_000));
    await context.waitFor(() => assert.ok(seen.parsed > 100));
    // One read of the runtime has at most 64 KiB.
    for (let at = 0; at < 50; at += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(seen.parsed <= 2 * (65_536 / GET.length), `${seen.parsed} were parsed`);
    assert.equal(count.waiting, seen.parsed - 1);
    const { parsed } = seen;
    while (seen.parsed === parsed) {
      seen.started.at(-1)?.end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.destroy();
    seen.started.at(-1)?.end('noticed');
    await context.waitFor(() => assert.equal(count.waiting, 0));
  });

  test('closes a connection with many that wait, when all connections have too many', async (context) => {
    const count = { waiting: 9_990 };
    const { seen, dial } = await serve(context, count);
    const [greedy, modest] = [await dial(), await dial()];
    modest.write(GET.repeat(50));
    await context.waitFor(() => assert.equal(seen.parsed, 50));
    greedy.write(GET.repeat(200));
    await once(greedy, 'close');
    assert.equal(modest.closed, false);
    assert.equal(count.waiting, 9_990 + 49);
  });
});

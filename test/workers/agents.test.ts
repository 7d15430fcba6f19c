import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Agent } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { after, afterEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket, WebSocketServer } from 'ws';
import type { EdgeWorkers } from '../../src/app/main/workers/edge-workers.ts';
import type { AgentHandle } from '../../src/tunnel/agent/index.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';
import { eventually, hostOf, localHttp, QUICK_TRIES } from '../tunnel/support/fault-world.ts';

const WORKERS = 3;
const MIB = 1024 * 1024;
const QUICK = { timings: QUICK_TRIES };

const world = await TunnelWorld.open({ after }, { POSTERN_WORKERS: String(WORKERS) });
const { edge } = world;
const workers = edge.world.server.workers as EdgeWorkers;

/** One connection for each worker: each goes to the one with the fewest. */
function visitors(): readonly Agent[] {
  return Array.from({ length: WORKERS }, () => edge.agent());
}

async function texts(agent: AgentHandle, clients: readonly Agent[]): Promise<readonly string[]> {
  const answers: string[] = [];
  for (const client of clients) answers.push((await edge.ask(hostOf(agent), '/', { agent: client })).text);
  return answers;
}

async function session(): Promise<string> {
  const { tunnel_sessions: sessions } = await edge.api('GET', '/tunnel_sessions');
  assert.equal(sessions.length, 1);
  return sessions[0].id;
}

async function hasOneEach(): Promise<void> {
  await eventually('each worker has a connection of the agent', () => workers.agentCounts.join() === '1,1,1');
}

async function noneIsLeft(): Promise<void> {
  await eventually('no connection is left', () => workers.agentCounts.join() === '0,0,0');
}

afterEach(async () => {
  await world.closeAgents();
  await noneIsLeft();
});

suite('agents of a server with several workers', () => {
  test('have a connection to each worker, and visitors of all of them reach the service', async () => {
    const local = await localHttp({ after }, (_, response) => response.end('here'));
    const agent = await world.agent([{ proto: 'https', addr: local }]);
    await hasOneEach();
    const clients = visitors();
    assert.deepEqual(new Set(await texts(agent, clients)), new Set(['here']));
    assert(
      workers.connectionCounts.every((count) => count > 0),
      workers.connectionCounts.join(),
    );
    for (const client of clients) client.destroy();
  });

  test('with a single connection are reached from the workers that have none', async () => {
    const local = await localHttp({ after }, (request, response) => {
      let bytes = 0;
      request.on('data', ({ length }: Buffer) => {
        bytes += length;
      });
      request.on('end', () => response.end(`${bytes}`));
    });
    const agent = await world.agent([{ proto: 'https', addr: local }], { connections: 1 });
    assert.equal(workers.agentCounts.filter((count) => count > 0).join(), '1');
    const body = Buffer.alloc(3_000_000, 'x');
    for (const client of visitors()) {
      const answer = await edge.ask(hostOf(agent), '/', { agent: client, method: 'POST', body });
      assert.equal(answer.text, '3000000');
      client.destroy();
    }
  });

  test('are held back by a visitor who does not read, and hold back visitors, also through other threads', async (t) => {
    let written = 0;
    const part = Buffer.alloc(65_536);
    const local = await localHttp({ after }, (request, response) => {
      // Uploads are not read.
      if (request.method === 'POST') return;
      const write = (): void => {
        written += part.length;
        if (!response.destroyed && response.write(part)) setImmediate(write);
      };
      response.on('drain', write);
      write();
    });
    const agent = await world.agent([{ proto: 'https', addr: local }], { connections: 1 });
    const settled = async (bytes: () => number): Promise<number> => {
      for (let before = -1; before !== bytes() && bytes() < 256 * MIB; await sleep(1_000)) before = bytes();
      return bytes();
    };
    const assertBounded = (bytes: number, what: string): void => {
      t.diagnostic(`${what}: ${Math.round(bytes / MIB)} MiB`);
      // The window of 32 MiB between agent and gateway, and buffers of the system and of all ends.
      assert(bytes < 64 * MIB, `${what}: ${Math.round(bytes / MIB)} MiB wait for a reader`);
    };
    for (let at = 0; at < WORKERS; at += 1) {
      // Both are open together, so that later ones go to other workers.
      const [reader, writer] = [await edge.connect(hostOf(agent)), await edge.connect(hostOf(agent))];
      let read = 0;
      const stopped = new Promise<void>((resolve) => {
        reader.on('data', ({ length }: Buffer) => {
          read += length;
          // Fast at first: windows are wide by then.
          if (read > 8 * MIB) resolve(void reader.pause());
        });
      });
      written = 0;
      reader.write(`GET / HTTP/1.1\r\nhost: ${hostOf(agent)}\r\n\r\n`);
      await stopped;
      writer.write(`POST / HTTP/1.1\r\nhost: ${hostOf(agent)}\r\ncontent-length: ${1024 * MIB}\r\n\r\n`);
      const write = (): void => {
        while (!writer.destroyed && writer.write(part));
      };
      writer.on('drain', write);
      write();
      assertBounded((await settled(() => written)) - read, 'download');
      assertBounded((await settled(() => writer.bytesWritten)) - writer.writableLength, 'upload');
      for (const socket of [reader, writer]) socket.destroy();
    }
  });

  test('carry WebSockets and connections of all workers, and of the main thread', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    sockets.on('connection', (socket) =>
      socket.on('message', (data: Buffer) => socket.send(`echo ${data.toString()}`)),
    );
    await once(sockets, 'listening');
    after(() => {
      sockets.close();
      server.close();
    });
    const portOf = (of: { address(): unknown }): number => (of.address() as AddressInfo).port;
    const agent = await world.agent(
      [
        { proto: 'https', addr: portOf(sockets) },
        { proto: 'tcp', addr: portOf(server) },
      ],
      { connections: 1 },
    );
    const { host, hostname } = new URL(agent.publicUrl ?? '');
    for (let at = 0; at < WORKERS; at += 1) {
      const options = { servername: hostname, ca: edge.ca, headers: { host } };
      const socket = new WebSocket(`wss://127.0.0.1:${edge.port}/`, options as object);
      await once(socket, 'open');
      socket.send('hello');
      const [data] = await once(socket, 'message');
      assert.equal(String(data), 'echo hello');
      socket.terminate();
    }
    const socket = connect(Number(new URL(agent.tunnels[1]?.publicUrl ?? '').port), '127.0.0.1');
    socket.write('over tcp');
    const [data] = await once(socket, 'data');
    assert.equal(String(data), 'over tcp');
    socket.destroy();
  });

  test('keep their session and tunnels when a worker ends, and have as many connections again', async () => {
    const local = await localHttp({ after }, (_, response) => response.end('here'));
    const agent = await world.agent([{ proto: 'https', addr: local }], QUICK);
    await hasOneEach();
    const id = await session();
    const url = agent.publicUrl;
    const [ended] = workers.all();
    await ended?.end();
    for (const client of visitors()) {
      assert.equal((await edge.ask(hostOf(agent), '/', { agent: client })).text, 'here', 'through other connections');
      client.destroy();
    }
    await eventually('another worker is ready', () => workers.agentCounts.length === WORKERS);
    const connected = (): number => workers.agentCounts.reduce((sum, count) => sum + count, 0);
    await eventually('the agent has all its connections', () => connected() === WORKERS);
    assert.equal(await session(), id);
    assert.equal(agent.publicUrl, url);
    const clients = visitors();
    assert.deepEqual(new Set(await texts(agent, clients)), new Set(['here']));
    for (const client of clients) client.destroy();
  });

  test('have a connection in each worker again once one was replaced, so that the end of another takes no tunnel offline', async () => {
    const local = await localHttp({ after }, (_, response) => response.end('here'));
    const agent = await world.agent([{ proto: 'https', addr: local }], QUICK);
    await hasOneEach();
    const id = await session();
    for (let round = 0; round < WORKERS; round += 1) {
      const ended = workers.all().find(({ index }) => index === round % WORKERS);
      await ended?.end();
      const client = edge.agent();
      assert.equal((await edge.ask(hostOf(agent), '/', { agent: client })).text, 'here', `round ${round}`);
      client.destroy();
      await eventually('another worker is ready', () => workers.agentCounts.length === WORKERS);
      await hasOneEach();
    }
    assert.equal(await session(), id);
  });

  test('lose their connections in all workers within a second of the end of their credential', async () => {
    const local = await localHttp({ after }, (_, response) => response.end('here'));
    const credential = await edge.api('POST', '/credentials', {});
    const agent = await world.agent([{ proto: 'https', addr: local }], { authtoken: credential.token });
    await hasOneEach();
    const clients = visitors();
    assert.deepEqual(new Set(await texts(agent, clients)), new Set(['here']));
    const stopped = once(agent as never, 'status');
    await edge.api('DELETE', `/credentials/${credential.id}`);
    for (const client of clients) {
      assert.notEqual((await edge.ask(hostOf(agent), '/', { agent: client })).text, 'here');
      client.destroy();
    }
    await stopped;
    await noneIsLeft();
  });
});

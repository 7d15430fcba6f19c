import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../edge/tls/tls-world.ts';
import { statusesIn } from '../../edge/traffic/raw-exchange.ts';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { acceptOf } from '../../edge/traffic/web-socket.ts';

export interface PipelinedWay {
  readonly name: string;
  /** How many requests are sent at once. */
  readonly many: number;
  readonly host: string;
  readonly connect: () => Promise<Socket>;
  readonly upstream: RecordingUpstream;
}

/** Pipelined HTTP/1.1 requests (RFC 9112 §9.3.2) are served one after the other. */
export function pipeliningSuite({ name, many, host, connect: open, upstream }: PipelinedWay): void {
  suite(`pipelined requests to ${name}`, () => {
    test('reach the upstream one at a time, in order', async () => {
      const state = holding(upstream);
      const received = new Received(await open());
      const sent = ['POST /a', 'PUT /b', 'GET /c', 'DELETE /d', 'POST /e'];
      received.socket.write(
        sent.map((line) => request(host, ...(line.split(' ') as [string, string]), 'text')).join(''),
      );
      for (let count = 0; count < sent.length; count += 1) {
        await until(() => state.held.length === 1);
        const [[message]] = state.held as [[IncomingMessage, ServerResponse]];
        assert.equal(`${message.method} ${message.url}`, sent[count]);
        await sleep(10);
        assert.equal(state.held.length, 1);
        state.release();
      }
      await until(() => received.statuses.length === sent.length);
      assert.deepEqual(
        received.text.match(/[A-Z]+ \/\w;/g),
        sent.map((line) => `${line};`),
      );
      assert.equal(state.most, 1);
      received.socket.destroy();
    });

    test(`${many} of them use one connection to the upstream`, async () => {
      let most = 0;
      upstream.answer = (message, response) => {
        most = Math.max(most, upstream.sockets.size);
        message.resume();
        response.end(`${message.url};`);
      };
      for (const socket of upstream.sockets) socket.destroy();
      const received = new Received(await open());
      received.socket.write(Array.from({ length: many }, (_, n) => request(host, 'GET', `/${n}`)).join(''));
      // Only the end: looking for all of them takes more CPU than answering them.
      await until(() => received.text.slice(-100).includes(`/${many - 1};`));
      const answers = received.text.match(/\/\d+;/g) ?? [];
      assert.deepEqual([answers.length, answers.at(0), answers.at(-1)], [many, '/0;', `/${many - 1};`]);
      assert.ok(most <= 2, `${most} connections`);
      received.socket.destroy();
    });

    test('have no effect when the response before them ends the connection', async () => {
      upstream.forget();
      for (const end of ['cut', 'gone'] as const) {
        const state = holding(upstream);
        const received = new Received(await open());
        received.socket.write(request(host, 'GET', '/first') + request(host, 'POST', '/second', 'x').repeat(3));
        await until(() => state.held.length === 1);
        const [, response] = state.held[0] ?? assert.fail();
        if (end === 'cut') {
          response.writeHead(200, { 'content-length': '100' }).write('some');
          await until(() => received.text.endsWith('some'));
          response.destroy();
          await until(() => received.isClosed);
        } else {
          received.socket.destroy();
          await once(response, 'close');
        }
        await sleep(50);
        assert.equal(state.most, 1, end);
        assert.ok(!upstream.bytes.includes('/second'), end);
      }
    });

    test('that are well-formed are answered before one that is not, and nothing after that', async () => {
      const state = holding(upstream);
      upstream.forget();
      const received = new Received(await open());
      const bad = `GET / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n`;
      received.socket.write(
        request(host, 'GET', '/1') + request(host, 'GET', '/2') + bad + request(host, 'POST', '/never'),
      );
      for (let count = 0; count < 2; count += 1) {
        await until(() => state.held.length === 1);
        state.release();
      }
      await until(() => received.isClosed);
      assert.deepEqual(received.statuses, [200, 200, 400]);
      assert.ok(!upstream.bytes.includes('/never'));
    });

    test('are not read without limit while the first is served', async () => {
      const state = holding(upstream);
      const received = new Received(await open());
      const bytes = Buffer.from(request(host, 'GET', '/many').repeat(20_000));
      for (let count = 0; count < 20; count += 1) received.socket.write(bytes);
      await until(() => state.held.length === 1);
      // Longer than a head may take: the client is not to blame for the one that was read in part.
      if (many === 1500) await sleep(2500);
      assert.ok(received.socket.writableLength > bytes.length, 'everything was read');
      assert.deepEqual([state.most, received.isClosed], [1, false]);
      state.release();
      await until(() => state.held.length === 1);
      received.socket.destroy();
    });

    test('before a handshake of a WebSocket are answered before it', async () => {
      const state = holding(upstream);
      upstream.onUpgrade = (message, socket) => {
        const accept = acceptOf(String(message.headers['sec-websocket-key']));
        socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
        );
        socket.end('from the WebSocket');
      };
      const received = new Received(await open());
      received.socket.write(
        `${request(host, 'GET', '/first')}GET /socket HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n`,
      );
      await until(() => state.held.length === 1);
      await sleep(20);
      assert.equal(received.text, '');
      const [, response] = state.held[0] ?? assert.fail();
      // More than the socket takes at once.
      response.end('x'.repeat(4_000_000));
      await until(() => received.text.endsWith('from the WebSocket'));
      assert.deepEqual(received.statuses, [200, 101]);
      received.socket.destroy();
    });
  });
}

/** What arrives on a socket. */
export class Received {
  text = '';
  isClosed = false;
  readonly socket: Socket;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString('latin1');
    });
    socket.once('close', () => {
      this.isClosed = true;
    });
  }

  get statuses(): readonly number[] {
    return statusesIn(this.text);
  }
}

export function request(host: string, method: string, path: string, body = ''): string {
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Holds every request of the upstream until the test answers it. */
function holding(upstream: RecordingUpstream): {
  readonly held: [IncomingMessage, ServerResponse][];
  most: number;
  release(): void;
} {
  const held: [IncomingMessage, ServerResponse][] = [];
  const state = { held, most: 0, release: () => {} };
  upstream.answer = (message, response) => {
    message.resume();
    held.push([message, response]);
    state.most = Math.max(state.most, held.length);
  };
  state.release = () => {
    const [message, response] = held.shift() ?? assert.fail('nothing is held');
    response.end(`${message.method} ${message.url};`);
  };
  return state;
}

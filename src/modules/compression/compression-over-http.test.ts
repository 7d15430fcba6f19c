import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createServer,
  get,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Transform } from 'node:stream';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { preparePorts } from '../../../test/support/inert-ports.ts';
import { trafficRequest } from '../../../test/support/traffic-request.ts';
import { CODINGS, type Coding } from '../../kit/http/content-coding.ts';
import { compression } from './compression.ts';

/** The module with real connections: an upstream, a small proxy that applies the result of `prepare`, and clients. */
const decoder = { zstd: createZstdDecompress, br: createBrotliDecompress, gzip: createGunzip, deflate: createInflate };
const ROWS = Buffer.from(JSON.stringify(Array.from({ length: 3000 }, (_, id) => ({ id, name: `user ${id % 97}` }))));
let upstream: Server;
let proxy: Server;
const live = new Set<Transform>();
/** Sends one more event to the open stream. */
let emit: (text: string) => void = () => {};

const serve: RequestListener = (request, response) => {
  switch (request.url ?? '/') {
    case '/events':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      emit = (text) => response.write(text);
      return;
    case '/lines':
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
      emit = (text) => response.write(text);
      return;
    case '/endless': {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const pump = (): void => {
        while (!response.destroyed && response.write(ROWS));
      };
      response.on('drain', pump);
      pump();
      return;
    }
    default:
      response
        .writeHead(200, {
          'content-type': 'application/json',
          'content-length': ROWS.length,
          etag: '"v1"',
          vary: 'Origin',
        })
        .end(ROWS);
  }
};

const forward: RequestListener = (incoming, outgoing) => {
  const preparation = compression.prepare({ enabled: true }, preparePorts());
  assert(preparation.ok);
  const sent = httpRequest({ port: portOf(upstream), path: incoming.url, method: incoming.method }, (answer) => {
    const status = answer.statusCode ?? 0;
    const headers = Object.entries(answer.headers)
      .filter(([name]) => !/^(content-length|transfer-encoding|connection|keep-alive)$/.test(name))
      .flatMap(([name, value]) => [name, String(value)]);
    const bodyBytes = answer.headers['content-length'] === undefined ? null : Number(answer.headers['content-length']);
    const request = trafficRequest(incoming.method, incoming.url, (name) => incoming.headers[name]?.toString());
    const change = preparation.prepared.transform?.(request, { status, headers, bodyBytes }) ?? null;
    outgoing.writeHead(status, [...(change?.headers ?? headers)]);
    outgoing.flushHeaders();
    const stream = change?.createStream?.() ?? null;
    answer.on('error', () => {});
    if (stream === null) answer.pipe(outgoing);
    else {
      live.add(stream.once('close', () => live.delete(stream)));
      answer.pipe(stream).pipe(outgoing);
    }
    outgoing.on('close', () => {
      stream?.destroy();
      answer.destroy();
    });
  });
  sent.on('error', () => {});
  sent.end();
};

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function ask(path: string, acceptEncoding?: string): Promise<IncomingMessage> {
  const headers = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding };
  const [answer] = (await once(get({ port: portOf(proxy), path, headers, agent: false }), 'response')) as [
    IncomingMessage,
  ];
  return answer;
}

async function waitFor(what: string, isTrue: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 60_000; !isTrue(); await sleep(1)) {
    assert(performance.now() < deadline, `${what}: not within a minute`);
  }
}

before(async () => {
  upstream = createServer(serve).listen(0);
  proxy = createServer(forward).listen(0);
  await Promise.all([once(upstream, 'listening'), once(proxy, 'listening')]);
});

after(() => {
  for (const server of [proxy, upstream]) {
    server.close();
    server.closeAllConnections();
  }
});

for (const coding of CODINGS) {
  suite(`over HTTP, ${coding}`, () => {
    test('a response of known length arrives complete', async () => {
      const answer = await ask('/', coding);
      assert.equal(answer.headers['content-encoding'], coding);
      assert.equal(answer.headers['content-length'], undefined);
      assert.equal(answer.headers['etag'], 'W/"v1"');
      assert.equal(answer.headers['vary'], 'Origin, Accept-Encoding');
      const parts = await answer.pipe(decoder[coding]()).toArray();
      assert.deepEqual(Buffer.concat(parts), ROWS);
    });

    for (const path of ['/events', '/lines']) {
      test(`each piece of ${path} arrives before the next is sent`, async () => {
        const quickestMs = await eachArrives(path, coding);
        assert(quickestMs < 1000, `${quickestMs} ms`);
      });
    }
  });
}

/** The least time: a busy machine delays some, a timer that holds them back would delay all. */
async function eachArrives(path: string, coding: Coding): Promise<number> {
  const answer = await ask(path, coding);
  assert.equal(answer.headers['content-encoding'], coding);
  let text = '';
  answer.on('error', () => {});
  answer.pipe(decoder[coding]()).on('data', (part: Buffer) => {
    text += part.toString();
  });
  let quickestMs = Number.POSITIVE_INFINITY;
  for (let at = 0; at < 15; at += 1) {
    const start = performance.now();
    emit(`data: ${at}\n\n`);
    await waitFor(`piece ${at}`, () => text.endsWith(`data: ${at}\n\n`));
    quickestMs = Math.min(quickestMs, performance.now() - start);
  }
  answer.destroy();
  return quickestMs;
}

suite('over HTTP', () => {
  test("a client without Accept-Encoding gets the upstream's bytes, and Vary is set", async () => {
    const answer = await ask('/');
    assert.equal(answer.headers['content-encoding'], undefined);
    assert.equal(answer.headers['etag'], '"v1"');
    assert.equal(answer.headers['vary'], 'Origin, Accept-Encoding');
    assert.deepEqual(Buffer.concat(await answer.toArray()), ROWS);
  });

  test('clients that disconnect end their streams', async () => {
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(CODINGS.map((coding) => ask('/endless', coding)));
      await Promise.all(answers.map((answer) => once(answer, 'data')));
      for (const answer of answers) {
        answer.on('error', () => {});
        answer.destroy();
      }
    }
    await waitFor('all streams ended', () => live.size === 0);
  });
});

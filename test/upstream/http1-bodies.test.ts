import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HeaderList } from '../../src/kit/http/header-values.ts';
import type { RequestBody } from '../../src/proxy/upstream/upstream.ts';
import { Answer, ask, assertNothingLeft, rawServer, upstreamTo } from './ask.ts';

after(assertNothingLeft);

function withLength(source: Readable, bytes: number, expectsContinue = false): RequestBody {
  return { framing: 'length', bytes, source, expectsContinue };
}

function chunked(source: Readable, trailers: HeaderList = [], expectsContinue = false): RequestBody {
  return { framing: 'chunked', source, expectsContinue, isWhole: () => true, trailers: () => trailers };
}

async function nodeServer(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    server,
    port: address.port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Echoes the request. */
function echo() {
  return nodeServer((request, response) => {
    const chunks: Buffer[] = [];
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('x-framing', length ?? coding ?? 'none');
      response.setHeader('x-trailers', JSON.stringify(request.rawTrailers));
      response.end(Buffer.concat(chunks));
    });
  });
}

test('bodies of every framing reach a real server, and the connection is kept', async () => {
  await using server = await echo();
  await using given = upstreamTo(server.port);
  const header = (answer: Answer, name: string) => answer.head?.headers[(answer.head.headers.indexOf(name) ?? -2) + 1];
  const fixed = await ask(given.upstream, {
    method: 'POST',
    body: withLength(Readable.from([Buffer.from('hello')]), 5),
  });
  assert.deepEqual([fixed.body, header(fixed, 'x-framing')], ['hello', '5']);
  const empty = await ask(given.upstream, { method: 'POST', body: withLength(Readable.from([]), 0) });
  assert.deepEqual([empty.body, header(empty, 'x-framing')], ['', '0']);
  const trailers = ['x-sum', '1', 'content-length', '9', 'x\r\ny', 'z', 'x-bad', 'a\r\nb: c'];
  const pieces = Readable.from([Buffer.from('ab'), Buffer.alloc(0), Buffer.from('c'.repeat(100_000))]);
  const open = await ask(given.upstream, { method: 'POST', body: chunked(pieces, trailers) });
  assert.deepEqual(
    [open.bytes, header(open, 'x-framing'), header(open, 'x-trailers')],
    [100_002, 'chunked', '["x-sum","1"]'],
  );
  const nothing = await ask(given.upstream, { method: 'PUT', body: chunked(Readable.from([])) });
  assert.deepEqual([nothing.body, header(nothing, 'x-framing')], ['', 'chunked']);
  assert.deepEqual(given.upstream.stats(), { idle: 1, active: 0 });
});

test('an empty chunked body is ended again when its request is sent once more', async () => {
  const received: string[] = [];
  await using server = await rawServer((socket, number) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (!/\r\n\r\n$/.test(text) || (text.includes('chunked') && !text.endsWith('0\r\nx-sum: 1\r\n\r\n'))) return;
      received.push(text.slice(0, 3));
      if (number === 1 && text.startsWith('PUT')) socket.destroy();
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      text = '';
    });
  });
  await using given = upstreamTo(server.port, { limits: { idleTimeoutMs: 1000 } });
  await ask(given.upstream);
  const answer = await ask(given.upstream, { method: 'PUT', body: chunked(Readable.from([]), ['x-sum', '1']) });
  assert.deepEqual([answer.failure, answer.body, received], [null, 'ok', ['GET', 'PUT', 'PUT']]);
});

test('a source with other listeners loses nothing while the connection is made', async () => {
  await using server = await echo();
  await using given = upstreamTo(server.port);
  const source = new PassThrough();
  let counted = 0;
  source.on('data', (chunk: Buffer) => {
    counted += chunk.length;
  });
  const under = ask(given.upstream, { method: 'POST', body: withLength(source, 5) });
  source.end('hello');
  const answer = await under;
  assert.deepEqual([answer.body, counted], ['hello', 5]);
});

test('a body that differs from its announced length cuts the connection, and no excess byte is sent', async () => {
  let received = '';
  await using server = await rawServer((socket) => {
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
    });
    socket.on('end', () => socket.end());
  });
  for (const [text, bytes] of [
    ['hello', 4],
    ['hello', 6],
  ] as const) {
    received = '';
    await using given = upstreamTo(server.port);
    const source = Readable.from([Buffer.from(text.slice(0, 2)), Buffer.from(text.slice(2))]);
    const { failure } = await ask(given.upstream, { method: 'POST', body: withLength(source, bytes) });
    assert.deepEqual([failure?.phase, failure?.reason, failure?.mayHaveBeenSent], ['send', 'request_body', true]);
    while (server.sockets.size > 0) await sleep(5);
    assert.ok((received.split('\r\n\r\n')[1] ?? '').length <= bytes);
  }
});

test('a source that breaks off cuts the connection', async () => {
  await using server = await rawServer((socket) => socket.resume());
  await using given = upstreamTo(server.port);
  const source = new PassThrough();
  const under = ask(given.upstream, { method: 'POST', body: chunked(source) });
  source.write('half');
  setTimeout(() => source.destroy(new Error('client gone')), 50);
  assert.equal((await under).failure?.reason, 'request_body');
});

test('100-continue: the body waits for it', async () => {
  const events: string[] = [];
  await using server = await nodeServer((request, response) => request.pipe(response));
  server.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    events.push('asked');
    setTimeout(() => {
      response.writeContinue();
      request.on('data', () => events.push('body')).pipe(response);
    }, 50);
  });
  await using given = upstreamTo(server.port);
  const answer = new Answer();
  answer.onCall = (call) => events.push(call);
  const source = Readable.from([Buffer.from('hello')]);
  await ask(given.upstream, { method: 'POST', body: withLength(source, 5, true) }, answer);
  assert.deepEqual(events.slice(0, 3), ['asked', 'informational', 'body']);
  assert.deepEqual([answer.body, answer.informational], ['hello', [[100, []]]]);
  assert.equal(given.upstream.stats().idle, 1);
});

test('100-continue: a silent upstream gets the body after a while, and the client is asked to send it', async () => {
  await using server = await rawServer((socket) => {
    socket.on('data', (bytes) => {
      if (bytes.toString().endsWith('hello')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  });
  await using given = upstreamTo(server.port);
  const answer = await ask(given.upstream, {
    method: 'POST',
    body: withLength(Readable.from([Buffer.from('hello')]), 5, true),
  });
  assert.deepEqual([answer.head?.status, answer.informational], [200, [[100, []]]]);
});

test('100-continue: a final response instead; the body is never read and the connection is closed', async () => {
  await using server = await rawServer((socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno'));
  });
  await using given = upstreamTo(server.port);
  const source = Readable.from([Buffer.from('hello')]);
  const answer = await ask(given.upstream, { method: 'POST', body: withLength(source, 5, true) });
  assert.deepEqual([answer.head?.status, answer.body, given.upstream.stats().idle], [417, 'no', 0]);
  assert.equal(source.readableDidRead, false);
});

test('delivers an early final response, and closes the connection when the body is incomplete', async () => {
  await using server = await rawServer((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig'));
  });
  await using given = upstreamTo(server.port);
  const source = new PassThrough();
  source.write('first');
  const answer = await ask(given.upstream, { method: 'POST', body: withLength(source, 1_000_000) });
  assert.deepEqual([answer.head?.status, answer.body, given.upstream.stats().idle], [413, 'big', 0]);
});

test('both directions at once: the response starts before the body ends, and the connection is kept', async () => {
  await using server = await nodeServer((request, response) => request.pipe(response));
  await using given = upstreamTo(server.port);
  const source = new PassThrough();
  const answer = new Answer();
  let rounds = 0;
  answer.takes = () => {
    rounds += 1;
    if (rounds < 5) source.write(`round ${rounds}`);
    else source.end();
    return true;
  };
  source.write('round 0');
  await ask(given.upstream, { method: 'POST', body: chunked(source) }, answer);
  assert.equal(answer.body, 'round 0round 1round 2round 3round 4');
  assert.equal(given.upstream.stats().idle, 1);
});

test('never sends a started body twice', async () => {
  let connections = 0;
  await using server = await rawServer((socket) => {
    connections += 1;
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      socket.once('data', () => socket.destroy());
    });
  });
  await using given = upstreamTo(server.port);
  await ask(given.upstream);
  const { failure } = await ask(given.upstream, {
    method: 'PUT',
    body: withLength(Readable.from([Buffer.from('x')]), 1),
  });
  assert.deepEqual([failure?.phase, failure?.mayHaveBeenSent, connections], ['send', true, 1]);
});

test('aborting during the body stops reading its source', async () => {
  await using server = await rawServer((socket) => socket.resume());
  await using given = upstreamTo(server.port);
  const source = new PassThrough();
  const answer = new Answer();
  void ask(given.upstream, { method: 'POST', body: chunked(source) }, answer);
  source.write('x');
  await sleep(50);
  answer.exchange?.abort();
  await sleep(50);
  assert.deepEqual([source.listenerCount('data'), source.isPaused(), answer.calls.length], [0, true, 0]);
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { EdgeWorld } from '../../support/edge-world.ts';
import { rawExchange } from './raw-exchange.ts';
import { recordingUpstream } from './recording-upstream.ts';

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host, routePath } = await world.site(await world.staticBackend(upstream.address));

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 3000;
  while (!condition()) {
    if (performance.now() > end) throw new Error('the condition did not hold within 3 s');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

suite('HTTP semantics', () => {
  test('curl over HTTP/1.1 and HTTP/2', async () => {
    const trust = join(world.world.dataDir, 'trust.pem');
    writeFileSync(trust, world.ca.join('\n'));
    for (const version of ['--http1.1', '--http2']) {
      const { stdout } = await promisify(execFile)('curl', [
        '-sS',
        version,
        '--cacert',
        trust,
        '--resolve',
        `${host}:${world.port}:127.0.0.1`,
        '-w',
        ' %{http_code} %{http_version}',
        '-d',
        'a=b',
        `https://${host}:${world.port}/curl`,
      ]);
      assert.match(stdout, version === '--http2' ? / 200 2$/ : / 200 1\.1$/);
      assert.equal(upstream.seen.at(-1)?.body, 'a=b');
      assert.equal(upstream.seen.at(-1)?.headers['x-forwarded-host'], `${host}:${world.port}`);
    }
  });

  test('HEAD matches GET, OPTIONS passes', async () => {
    upstream.answer = (request, response) => {
      response.writeHead(200, { 'content-length': '1234', allow: 'GET' });
      response.end(request.method === 'HEAD' ? undefined : 'x'.repeat(1234));
    };
    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      const answer = await world.ask(host, '/', { method });
      assert.deepEqual(
        [answer.status, answer.headers['content-length'], answer.body.length],
        [200, '1234', method === 'HEAD' ? 0 : 1234],
      );
    }
    const session = await world.http2(host);
    const stream = session.request({ ':method': 'HEAD', ':path': '/' });
    const headers = await new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
    session.destroy();
    upstream.answer = null;
    assert.equal(headers['content-length'], '1234');
  });

  test('events arrive one by one, also compressed', async () => {
    for (const coding of ['identity', 'gzip', 'br', 'zstd']) {
      if (coding !== 'identity') await world.api('PUT', `${routePath}/compression`, {});
      let send = (_text: string): void => {};
      upstream.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        send = (text) => response.write(`data: ${text}\n\n`);
        send('first');
      };
      const chunks: Buffer[] = [];
      const sent = requestHttps(
        { ...world.tlsOptions(host), agent: false, headers: { host, 'accept-encoding': coding } },
        (response) => response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {}),
      );
      sent.on('error', () => {}).end();
      await until(() => chunks.length > 0);
      const before = chunks.length;
      send('second');
      await until(() => chunks.length > before);
      sent.destroy();
    }
    await world.api('DELETE', `${routePath}/compression`);
    upstream.answer = null;
  });

  test('trailers both ways over HTTP/2, as gRPC needs them', async () => {
    let got: readonly string[] = [];
    upstream.answer = (request, response) => {
      request.resume().on('end', () => {
        got = request.rawTrailers;
        response.writeHead(200, { trailer: 'grpc-status', 'content-type': 'application/grpc' });
        response.write('x');
        response.addTrailers({ 'grpc-status': '7' });
        response.end();
      });
    };
    const session = await world.http2(host);
    const stream = session.request(
      { ':method': 'POST', ':path': '/', te: 'trailers' },
      { waitForTrailers: true, endStream: false },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': 'abc' }));
    stream.end('body');
    const trailers = new Promise<IncomingHttpHeaders>((resolve) => stream.once('trailers', resolve));
    stream.resume();
    assert.equal((await trailers)['grpc-status'], '7');
    assert.deepEqual(got, ['x-checksum', 'abc']);
    session.destroy();
    upstream.answer = null;
  });

  test('103 comes before the response, over HTTP/1.1 and HTTP/2', async () => {
    upstream.answer = (_request, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' });
      response.end('done');
    };
    const socket = await world.connect(host);
    const answer = await rawExchange(socket, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    assert.deepEqual(answer.statuses, [103, 200]);
    const old = await rawExchange(await world.connect(host), `GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
    assert.deepEqual(old.statuses, [200]);
    const session = await world.http2(host);
    const stream = session.request({ ':path': '/' });
    const hints = new Promise<IncomingHttpHeaders>((resolve) => stream.once('headers', resolve));
    stream.resume();
    assert.deepEqual([(await hints)[':status'], (await hints)['link']], [103, '</a.css>; rel=preload']);
    session.destroy();
    upstream.answer = null;
  });

  test('Expect: the upstream decides, and a rejection leaves nothing that could be read as a request', async () => {
    const socket = await world.connect(host);
    const head = `POST /expect HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n`;
    const first = await rawExchange(socket, head, { isEnough: (soFar) => soFar.includes('\r\n\r\n') });
    assert.deepEqual(first.statuses, [100]);
    const rest = await rawExchange(socket, 'body', { isEnough: (soFar) => soFar.endsWith('}') });
    assert.deepEqual(rest.statuses, [200]);
    assert.equal(upstream.seen.at(-1)?.body, 'body');
    socket.destroy();

    const { host: closed } = await world.site();
    const refused = await world.connect(closed);
    const answer = await rawExchange(refused, head.replace(host, closed));
    assert.deepEqual([answer.statuses, answer.isClosed], [[503], true]);
  });

  test('a client that disconnects frees the upstream', async () => {
    let isGone = false;
    upstream.answer = (request, response) => {
      request.socket.once('close', () => {
        isGone = true;
      });
      response.write('beginning');
    };
    const socket = await world.connect(host);
    await rawExchange(socket, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, {
      isEnough: (got) => got.includes('beginning'),
    });
    socket.destroy();
    await until(() => isGone);
    isGone = false;
    const session = await world.http2(host);
    const stream = session.request({ ':path': '/' });
    stream.on('error', () => {});
    await new Promise((resolve) => stream.once('data', resolve));
    stream.close(8);
    await until(() => isGone);
    session.destroy();
    upstream.answer = null;
  });

  test('an upstream that breaks off cuts the client, which must not take it for the end', async () => {
    upstream.answer = (request, response) => {
      response.write('half');
      setTimeout(() => request.socket.destroy(), 20);
    };
    await assert.rejects(world.ask(host), /aborted|hang up|ECONNRESET/);
    const session = await world.http2(host);
    const stream = session.request({ ':path': '/' });
    const code = await new Promise((resolve) => {
      stream.on('error', () => {});
      stream.resume().once('close', () => resolve(stream.rstCode));
    });
    session.destroy();
    upstream.answer = null;
    assert.notEqual(code, 0);
  });

  test('pipelined requests are answered in order', async () => {
    upstream.answer = (request, response) => {
      setTimeout(() => response.end(`<${request.url}>`), request.url === '/1' ? 50 : 0);
    };
    const socket = await world.connect(host);
    const ask = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
    const { bytes } = await rawExchange(socket, ask('/1') + ask('/2') + ask('/3', 'Connection: close\r\n'));
    upstream.answer = null;
    assert.deepEqual(
      [...bytes.matchAll(/<(.*?)>/g)].map((match) => match[1]),
      ['/1', '/2', '/3'],
    );
  });
});

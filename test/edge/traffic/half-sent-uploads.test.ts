// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants, createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { listenOn } from '../../support/listen-on.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { recordingUpstream } from './recording-upstream.ts';

/** The first backend of a `failover` gives a request up; the second one is only for requests that are still whole. */
const PART = 'a part of the upload';
const REST = ' and its rest';
/** A second backend that gets such a request waits for the rest of its body. */
const WAIT_MS = 10_000;

const { certificatePem: cert, keyPem: key } = await (await UpstreamAuthority.trusted({ after })).issue();
/** Requests that the first backend has got, and what it has read of their bodies. */
const first = { requests: 0, body: '' };
const refusing = createSecureServer({ cert, key });
refusing.on('sessionError', () => {});
refusing.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
  const refuse = () => stream.close(constants.NGHTTP2_REFUSED_STREAM);
  first.requests += 1;
  stream.on('error', () => {});
  if (headers.expect === '100-continue') refuse();
  else stream.on('data', (chunk: Buffer) => hasRead(chunk) && refuse());
});
const closing = createServer((socket: Socket) => {
  first.requests += 1;
  socket.on('data', (chunk: Buffer) => hasRead(chunk) && socket.destroy());
});

/** Whether the part has arrived. */
function hasRead(chunk: Buffer): boolean {
  first.body += chunk.toString('latin1');
  return first.body.includes(PART);
}

const second = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });

async function failover(address: string, hasTls: boolean): Promise<string> {
  const backends = [await world.staticBackend(address, hasTls), await world.staticBackend(second.address)];
  const { id } = await world.api('POST', '/backends/failover', { backends });
  return (await world.site(id)).host;
}

const hosts = {
  'an HTTP/2 backend resets as refused': await failover(`localhost:${await listenOn({ after }, refusing)}`, true),
  'an HTTP/1.1 backend closes': await failover(`127.0.0.1:${await listenOn({ after }, closing)}`, false),
};

/** Each starts an upload, and sends the rest only with `isWhole`. Resolves to the status and our error code. */
const CLIENTS = {
  'HTTP/1.1': async (host: string, headers: Readonly<Record<string, string>>, isWhole: boolean) => {
    const sent = requestHttps({
      agent: false,
      ...world.tlsOptions(host),
      method: 'POST',
      headers: { host, ...headers },
    });
    sent.on('error', () => {});
    sent.write(PART);
    if (isWhole) sent.end(REST);
    const [response] = await once(sent, 'response', { signal: AbortSignal.timeout(WAIT_MS) });
    sent.destroy();
    return [response.statusCode, response.headers['postern-error-code']];
  },
  'HTTP/2': async (host: string, headers: Readonly<Record<string, string>>, isWhole: boolean) => {
    const session = await world.http2(host);
    const stream = session.request({ ':method': 'POST', ...headers }).on('error', () => {});
    stream.write(PART);
    if (isWhole) stream.end(REST);
    const [head] = await once(stream, 'response', { signal: AbortSignal.timeout(WAIT_MS) });
    session.destroy();
    return [head[':status'], head['postern-error-code']];
  },
};

for (const [protocol, upload] of Object.entries(CLIENTS)) {
  suite(`an upload over ${protocol}`, () => {
    for (const [what, host] of Object.entries(hosts)) {
      for (const [framing, headers] of [
        ['of known length', { 'content-length': String(PART.length + REST.length) }],
        ['of unknown length', {}],
      ] as const) {
        test(`${framing} goes to no other backend after ${what} in its middle`, async () => {
          Object.assign(first, { requests: 0, body: '' });
          second.forget();
          assert.deepEqual(await upload(host, headers, false), [502, 'ERR_POSTERN_UPSTREAM_BROKEN']);
          assert.equal(first.requests, 1);
          assert.match(first.body, new RegExp(PART));
          assert.deepEqual([second.seen, second.bytes], [[], '']);
        });
      }
    }

    test('goes whole to the next backend when the first one refuses it unread', async () => {
      Object.assign(first, { requests: 0, body: '' });
      second.forget();
      const host = hosts['an HTTP/2 backend resets as refused'];
      const [status] = await upload(host, { expect: '100-continue' }, true);
      assert.deepEqual([status, second.seen.map(({ body }) => body)], [200, [PART + REST]]);
      assert.equal(first.body, '');
    });
  });
}

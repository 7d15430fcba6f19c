import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import { after, suite, test } from 'node:test';
import { brotliDecompressSync, createGunzip, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { EdgeWorld, type Site } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const decode = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync, deflate: inflateSync };
const TEXT = 'What is said twice is said shorter. '.repeat(100);
const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address);
const { host } = await compressed(await world.site(backend));

async function compressed(site: Site): Promise<Site> {
  await world.api('PUT', `${site.routePath}/compression`, {});
  return site;
}

function askFor(coding: string, method = 'GET') {
  return { method, headers: { 'accept-encoding': coding } };
}

/** A request over HTTP/2 of which nothing has been read yet. */
async function open(coding: string): Promise<ClientHttp2Stream> {
  const session = await world.http2(host);
  const stream = session.request({ ':path': '/', 'accept-encoding': coding });
  stream.on('error', () => {}).once('close', () => session.close());
  return stream;
}

/** The test controls the next response. */
function nextAnswer(type: string): Promise<ServerResponse> {
  return new Promise((resolve) => {
    upstream.answer = (_request, response) => {
      response.setHeader('content-type', type);
      resolve(response);
    };
  });
}

suite('compression of fixed responses', () => {
  for (const [coding, decoded] of Object.entries(decode)) {
    test(`${coding}, the same for everybody`, async () => {
      const site = await compressed(await world.site(await world.httpResponse(TEXT, { status_code: 503 })));
      const answers = [
        await world.ask(site.host, '/', askFor(coding)),
        await world.ask(site.host, '/', askFor(coding)),
      ];
      for (const { status, headers, body } of answers) {
        assert.equal(status, 503);
        assert.equal(headers['content-encoding'], coding);
        assert.equal(headers['vary'], 'Accept-Encoding');
        assert.equal(headers['content-length'], String(body.length));
        assert.equal(decoded(body).toString(), TEXT);
      }
      const plain = await world.ask(site.host, '/');
      assert.equal(plain.headers['content-encoding'], undefined);
      assert.equal(plain.headers['vary'], 'Accept-Encoding');
      assert.equal(plain.text, TEXT);
    });
  }

  test('does not serve the old form of a changed response', async () => {
    const backendId = await world.httpResponse(TEXT);
    const site = await compressed(await world.site(backendId));
    await world.ask(site.host, '/', askFor('gzip'));
    const other = TEXT.toUpperCase();
    await world.api('PATCH', `/backends/http_response/${backendId}`, { body: other });
    const { body } = await world.ask(site.host, '/', askFor('gzip'));
    assert.equal(gunzipSync(body).toString(), other);
  });

  test('HEAD matches GET without a coding, and small responses and routes without the module are unchanged', async () => {
    const site = await compressed(await world.site(await world.httpResponse(TEXT)));
    const head = await world.ask(site.host, '/', askFor('gzip', 'HEAD'));
    assert.deepEqual([head.headers['content-length'], head.body.length], [String(TEXT.length), 0]);
    const small = await compressed(await world.site(await world.httpResponse('back at noon')));
    const open = await world.site(await world.httpResponse(TEXT));
    for (const { host: name } of [small, open]) {
      const answer = await world.ask(name, '/', askFor('gzip'));
      assert.equal(answer.headers['content-encoding'], undefined);
    }
  });
});

suite('compression of small responses of known length', () => {
  for (const [coding, decoded] of Object.entries(decode)) {
    test(`${coding}: complete, with its length`, async () => {
      upstream.answer = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': TEXT.length }).end(TEXT);
      };
      const { headers, body } = await world.ask(host, '/', askFor(coding));
      assert.equal(headers['content-encoding'], coding);
      assert.equal(headers['content-length'], String(body.length));
      assert.equal(decoded(body).toString(), TEXT);
    });
  }

  test('the head of a response with a slow body does not wait for it', async () => {
    const answered = nextAnswer('text/plain');
    const stream = await open('gzip');
    const response = await answered;
    response.writeHead(200, { 'content-length': TEXT.length }).flushHeaders();
    const [head] = (await once(stream, 'response')) as [Record<string, string>];
    assert.equal(head['content-encoding'], 'gzip');
    response.end(TEXT);
    assert.equal(gunzipSync(Buffer.concat(await stream.toArray())).toString(), TEXT);
  });

  for (const type of ['text/plain', 'text/event-stream']) {
    test(`the first half of ${type} arrives before the second is sent`, async () => {
      const answered = nextAnswer(type);
      const stream = await open('gzip');
      const response = await answered;
      response.writeHead(200, { 'content-length': 2 * TEXT.length }).write(TEXT);
      let received = '';
      const unzipped = stream.pipe(createGunzip()).setEncoding('utf8');
      unzipped.on('data', (text: string) => {
        received += text;
      });
      while (received !== TEXT) await once(unzipped, 'data');
      response.end(TEXT);
      await once(unzipped, 'end');
      assert.equal(received, TEXT + TEXT);
    });
  }

  test('reports an upstream that breaks off before anything was sent', async () => {
    upstream.answer = (request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': TEXT.length }).flushHeaders();
      response.write(TEXT.slice(0, 10), () => request.socket.destroy());
    };
    const answer = await world.ask(host, '/', askFor('gzip')).catch((error: Error) => error);
    // If it were slower than the edge holds data back, the connection would be cut; a 200 that looks complete never
    // arrives.
    if (answer instanceof Error) return;
    assert.equal(answer.status, 502);
    assert.equal(answer.headers['content-encoding'], undefined);
  });
});

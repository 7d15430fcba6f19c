// Process of memory measurements: files of other processes would distort them.
import assert from 'node:assert/strict';
import { type ClientHttp2Stream, constants } from 'node:http2';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { after, suite, type TestContext, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from './recording-upstream.ts';

const MIB = 1024 * 1024;
const TOTAL = (process.env['POSTERN_TEST_LONG'] === undefined ? 128 : 2048) * MIB;
/** Client, edge and upstream are in this process; none of them may hold a whole body. */
const MAX_GROWTH = 96 * MIB;

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));
const block = Buffer.alloc(64 * 1024, 'postern');
/** Before the measurement: heaps and buffers grow to their working size with the first megabytes. */
const WARM_UP = 32 * MIB;

function blocks(total: number): Readable {
  let left = total / block.length;
  return new Readable({
    read() {
      left -= 1;
      this.push(left < 0 ? null : block);
    },
  });
}

/** How many bytes arrive; they must be those of `blocks`. Comparing costs less than a hash. */
async function comparedBytes(stream: AsyncIterable<Buffer>): Promise<number> {
  let at = 0;
  for await (const chunk of stream) {
    for (let done = 0; done < chunk.length; ) {
      const from = at % block.length;
      const length = Math.min(block.length - from, chunk.length - done);
      assert.ok(chunk.subarray(done, done + length).equals(block.subarray(from, from + length)), `differs at ${at}`);
      done += length;
      at += length;
    }
  }
  return at;
}

async function growthDuring(test: TestContext, work: (total: number) => Promise<void>): Promise<number> {
  await work(WARM_UP);
  const startedAt = performance.now();
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  await work(TOTAL);
  clearInterval(timer);
  const seconds = (performance.now() - startedAt) / 1000;
  test.diagnostic(
    `${seconds.toFixed(1)} s, RSS from ${Math.round(before / MIB)} to at most ${Math.round(most / MIB)} MiB`,
  );
  return most - before;
}

suite(`bodies of ${TOTAL / MIB} MiB`, () => {
  upstream.answer = (request, response) => {
    if (request.method === 'GET') blocks(Number(request.url?.slice(1))).pipe(response);
    else
      comparedBytes(request).then(
        (bytes) => response.end(String(bytes)),
        (error: Error) => response.end(error.message),
      );
  };

  test('an upload arrives completely, in constant memory', async (t) => {
    const growth = await growthDuring(t, async (total) => {
      const answer = await new Promise<string>((resolve, reject) => {
        const sent = requestHttps(
          { ...world.tlsOptions(host), agent: false, method: 'POST', headers: { host } },
          (response) => response.setEncoding('utf8').once('data', resolve),
        );
        sent.on('error', reject);
        blocks(total).pipe(sent);
      });
      assert.equal(answer, String(total));
    });
    assert.ok(growth < MAX_GROWTH, `grew by ${growth / MIB} MiB`);
  });

  test('a download arrives completely over HTTP/2, in constant memory', async (t) => {
    const session = await world.http2(host);
    const growth = await growthDuring(t, async (total) => {
      assert.equal(
        await comparedBytes(session.request({ ':path': `/${total}` }) as ClientHttp2Stream & AsyncIterable<Buffer>),
        total,
      );
    });
    session.destroy();
    assert.ok(growth < MAX_GROWTH, `grew by ${growth / MIB} MiB`);
  });

  test('a client that does not read stops the upstream', async () => {
    let sent = 0;
    upstream.answer = (_request, response) => {
      const source = blocks(TOTAL);
      source.on('data', (chunk: Buffer) => {
        sent += chunk.length;
      });
      source.pipe(response);
    };
    const session = await world.http2(host);
    const stream = session.request({ ':path': '/' });
    stream.on('error', () => {});
    await new Promise((resolve) => setTimeout(resolve, 700));
    const before = sent;
    assert.ok(before < 32 * MIB, `${before / MIB} MiB went out to somebody who does not read`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(sent, before);
    stream.close(constants.NGHTTP2_CANCEL);
    session.destroy();
  });
});

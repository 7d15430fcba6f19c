import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';

const world = await EdgeWorld.open({ after });
const BODY = Buffer.alloc(50_000_000, 'x');

/**
 * With its default of 10 MB for a connection, which its own waiting upload fills, Node's client resets the stream when
 * it gets the answer, also that of Node's own server. Node's `fetch` has no other default.
 */
test('an answer that comes before 50 MB of an upload over HTTP/2 arrives whole at a client that has room for its upload', async () => {
  const { host } = await world.site(await world.httpResponse('no', { status_code: 503 }));
  for (let round = 0; round < 2; round += 1) {
    const session = await world.http2(host, { maxSessionMemory: 200 });
    const stream = session.request({ ':method': 'POST', ':path': '/' });
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    stream.end(BODY);
    const [head] = await once(stream, 'response');
    await once(stream, 'end');
    assert.deepEqual([head[':status'], text], [503, 'no']);
    // The connection serves others.
    const [beside] = await once(session.request({ ':path': '/' }).resume().end(), 'response');
    assert.equal(beside[':status'], 503);
    session.destroy();
  }
});

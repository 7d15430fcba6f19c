import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { EdgeWorld } from '../../support/edge-world.ts';
import { END_HEADERS, END_STREAM, frame, HEADERS, headerBlock } from './support/frames.ts';
import { RawHttp2 } from './support/raw-http2.ts';
import { until } from './support/until.ts';

const CONNECTIONS = 6;
const STREAMS = 2_000;

test('one address with 12,000 requests at once leaves half of the places that wait for a turn to others', async (t) => {
  const world = await EdgeWorld.open({ after }, { POSTERN_EDGE_STREAMS: String(STREAMS) });
  const { id } = await world.api('POST', '/backends/http_response', { body: 'hello' });
  const { host } = await world.site(id);
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => RawHttp2.open(world, host)));
  t.after(() => {
    for (const client of clients) client.destroy();
  });
  const other = await world.http2(host, { localAddress: '127.0.0.2' } as object);
  const block = headerBlock(host);
  const burst = Array.from({ length: STREAMS }, (_, at) => frame(HEADERS, END_HEADERS | END_STREAM, 2 * at + 1, block));
  for (const client of clients) client.send(...burst);
  const statuses: Promise<unknown>[] = [];
  for (let at = 0; at < 40; at += 1) {
    const stream = other.request({ ':path': '/' });
    statuses.push(once(stream.resume(), 'response').then(([headers]) => headers[':status']));
    await turn();
  }
  await until(async () => clients.every(({ frames }) => frames.length >= STREAMS), 'all are answered');
  const refused = Number(/^postern_edge_overload_refusals_total\{.*\} (\d+)$/m.exec(await world.metrics())?.[1]);
  t.diagnostic(`${refused} of ${CONNECTIONS * STREAMS} were refused`);
  assert.ok(refused > 1_000 && refused < CONNECTIONS * STREAMS, `${refused} were refused`);
  assert.deepEqual(new Set(await Promise.all(statuses)), new Set([200]));
});

import assert from 'node:assert/strict';
import { type ClientHttp2Session, constants, type OutgoingHttpHeaders } from 'node:http2';
import { after, test } from 'node:test';
import { type Bug, onBug } from '../../../src/kit/guarded-listeners.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

/**
 * A visitor announces a header list so small that not even an error page fits: its requests are reset, and nothing
 * stays.
 */
const upstream = await recordingUpstream({ after });
const edge = await EdgeWorld.open({ after });
const { host } = await edge.site(await edge.staticBackend(upstream.address));
const bugs: Bug[] = [];
after(onBug((bug) => bugs.push(bug)));

function resetCodeOf(session: ClientHttp2Session, headers: OutgoingHttpHeaders): Promise<number> {
  const stream = session.request({ ':authority': host, ':path': '/', ...headers }, { endStream: true });
  return new Promise((resolve, reject) => {
    stream.on('error', () => {});
    stream.once('response', () => reject(new Error('answered')));
    stream.once('close', () => resolve(stream.rstCode ?? -1));
  });
}

for (const [what, headers] of [
  ['a response of an upstream', {}],
  ['a request that cannot be read', { ':method': 'BREW' }],
  ['a request for another host', { ':authority': 'other.example.com' }],
] as const) {
  test(`${what} that cannot be sent is a reset, and no bug`, async () => {
    const session = await edge.http2(host, { settings: { maxHeaderListSize: 10 } });
    let goaway = -1;
    session.on('goaway', (code) => {
      goaway = code;
    });
    assert.equal(await resetCodeOf(session, headers), constants.NGHTTP2_INTERNAL_ERROR);
    assert.equal(await resetCodeOf(session, headers), constants.NGHTTP2_INTERNAL_ERROR);
    assert.equal(goaway, -1, 'the visitor keeps the connection');
    assert.match(await edge.metrics(), /^postern_edge_requests_in_flight 0$/m);
    assert.match(await edge.metrics(), /^postern_edge_streams_in_flight 0$/m);
    assert.deepEqual(bugs, []);
    session.destroy();
  });
}

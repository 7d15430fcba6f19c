import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { rawExchange } from '../../edge/traffic/raw-exchange.ts';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { corpus } from './attack-corpus.ts';

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const { host } = await world.site(await world.staticBackend(upstream.address));
const { names, source } = corpus<{ names: string[]; source: string }>('header-names');

suite(`headers that only the edge may set (${source})`, () => {
  for (const name of names) {
    for (const alias of aliasesOf(name)) {
      test(`${alias} of a client`, async () => {
        upstream.forget();
        const socket = await world.connect(host);
        const head = `GET / HTTP/1.1\r\nHost: ${host}\r\n${alias}: forged\r\nX-Kept: 1\r\nConnection: close\r\n\r\n`;
        assert.deepEqual((await rawExchange(socket, head)).statuses, [200]);
        assert.doesNotMatch(upstream.bytes, /forged/);
        assert.match(upstream.bytes, /x-kept: 1/);
      });
    }

    test(`${name} among the trailers of a client`, async () => {
      upstream.forget();
      const socket = await world.connect(host);
      const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
      const trailers = aliasesOf(name).map((alias) => `${alias}: forged\r\n`);
      const answer = await rawExchange(socket, `${head}1\r\nx\r\n0\r\n${trailers.join('')}X-Kept: 1\r\n\r\n`);
      assert.deepEqual(answer.statuses, [200]);
      assert.doesNotMatch(upstream.bytes, /forged/);
      assert.match(upstream.bytes, /x-kept: 1/);
    });

    test(`${name} of an HTTP/2 client`, async () => {
      upstream.forget();
      const session = await world.http2(host);
      const forged = Object.fromEntries(aliasesOf(name).map((alias) => [alias.toLowerCase(), 'forged']));
      const stream = session.request({ ...forged, 'x-kept': '1' });
      await new Promise((resolve) => stream.resume().once('close', resolve));
      session.destroy();
      assert.doesNotMatch(upstream.bytes, /forged/);
      assert.match(upstream.bytes, /x-kept: 1/);
    });
  }

  test("an upstream cannot send the edge's own headers", async () => {
    upstream.answer = (_request, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload', 'postern-error-code': 'forged' });
      response.writeHead(200, { 'Postern-Error-Code': 'forged', 'postern-request-id': 'forged', trailer: 'x-kept' });
      response.write('x');
      response.addTrailers({ 'postern-error-code': 'forged', 'x-kept': '1' });
      response.end();
    };
    const socket = await world.connect(host);
    const answer = await rawExchange(
      socket,
      `GET / HTTP/1.1\r\nHost: ${host}\r\nTE: trailers\r\nConnection: close, TE\r\n\r\n`,
    );
    upstream.answer = null;
    assert.deepEqual(answer.statuses, [103, 200]);
    assert.doesNotMatch(answer.bytes, /forged/);
    assert.match(answer.bytes, /x-kept: 1/i);
  });
});

/** How different upstreams fold names: case, and underscores or (CGI, PHP) any other character for dashes. */
function aliasesOf(name: string): readonly string[] {
  const folded = ['_', '.', '~', '!', "'"].map((mark) => name.replaceAll('-', mark));
  return [name, name.toLowerCase(), name.toUpperCase(), ...folded, name.replace('-', '_'), name.replace('-', '.')];
}

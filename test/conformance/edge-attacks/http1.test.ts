import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { rawExchange } from '../../edge/traffic/raw-exchange.ts';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../../support/edge-world.ts';
import { corpus, filledIn } from './attack-corpus.ts';

interface Refused {
  readonly name: string;
  readonly source: string;
  readonly send: string;
  readonly status: number;
}

interface Forwarded extends Omit<Refused, 'status'> {
  readonly seen: {
    readonly method: string;
    readonly url: string;
    readonly body?: string;
    /** The connection ends with the response. */
    readonly closes?: boolean;
    /** Text that the upstream's bytes must or must not contain. */
    readonly present?: readonly string[];
    readonly absent?: readonly string[];
  };
}

const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const site = await world.site(await world.staticBackend(upstream.address));

suite('ambiguous HTTP/1.1', () => {
  for (const { name, source, send, status } of corpus<Refused[]>('http1-refused')) {
    test(`rejected: ${name} (${source})`, async () => {
      upstream.forget();
      const { host } = site;
      const socket = await world.connect(host);
      // The request behind it must be neither answered nor forwarded.
      const second = `GET /second HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      const answer = await rawExchange(socket, `${filledIn(send, host)}${second}`);
      assert.deepEqual(answer.statuses, [status], answer.bytes);
      assert.match(answer.bytes, /postern-error-code: ERR_POSTERN_/i);
      assert.ok(answer.isClosed, 'the connection must end');
      // When this response is back, everything forwarded before has arrived.
      await world.ask(host, '/barrier');
      assert.deepEqual(
        upstream.seen.map(({ method, url }) => `${method} ${url}`),
        ['GET /barrier'],
      );
      assert.doesNotMatch(upstream.bytes, /second/);
    });
  }

  for (const { name, source, send, seen } of corpus<Forwarded[]>('http1-forwarded')) {
    test(`forwarded: ${name} (${source})`, async () => {
      upstream.forget();
      const { host } = site;
      const socket = await world.connect(host);
      const last = `GET /last HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const answer = await rawExchange(socket, `${filledIn(send, host)}${last}`);
      const expected = seen.closes === true ? [200] : [200, 200];
      assert.deepEqual(answer.statuses, expected, answer.bytes);
      assert.ok(answer.isClosed);
      assert.equal(upstream.seen.length, expected.length);
      const got = upstream.seen.find(({ url }) => url !== '/last');
      assert.deepEqual({ method: got?.method, url: got?.url, body: got?.body }, { body: '', ...pick(seen) });
      const start = upstream.bytes.indexOf(`${seen.method} ${seen.url} HTTP/1.1\r\n`);
      const head = upstream.bytes.slice(
        start,
        upstream.bytes.indexOf('\r\n\r\n', start) + 4 + (seen.body?.length ?? 0),
      );
      for (const text of seen.present ?? [])
        assert.ok(head.includes(`\r\n${filledIn(text, host)}`), `${text}\n${head}`);
      for (const text of seen.absent ?? []) assert.ok(!head.toLowerCase().includes(text), `${text}\n${head}`);
    });
  }
});

function pick({ method, url, body }: Forwarded['seen']) {
  return { method, url, ...(body !== undefined && { body }) };
}

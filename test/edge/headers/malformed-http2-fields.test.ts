import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  frame,
  HEADERS,
  headerBlock,
  literal,
  RST_STREAM,
} from '../abuse/support/frames.ts';
import { RawHttp2 } from '../abuse/support/raw-http2.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const MARK = 'MARK-7f3a';
const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after }, { POSTERN_TRUSTED_PROXIES: '127.0.0.1/32' });
const { host, routePath } = await world.site(await world.staticBackend(upstream.address));
await world.api('PUT', `${routePath}/compression`, {});

const BAD_BYTES: Readonly<Record<string, string>> = {
  CR: '\r',
  LF: '\n',
  'CR LF and a header': '\r\nx-smuggled: 1\r\n',
  'CR LF and a request': '\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n',
  NUL: '\0',
  DEL: '\x7f',
};

interface Outcome {
  readonly isReset: boolean;
  readonly reached: boolean;
  readonly bytes: string;
}

/** A request over raw frames with these fields among its headers or trailers. */
async function send(
  fields: readonly (readonly [string, string])[],
  place: 'headers' | 'trailers' = 'headers',
): Promise<Outcome> {
  upstream.forget();
  const client = await RawHttp2.open(world, host);
  const extra = Buffer.concat(fields.map(([name, value]) => literal(name, value)));
  if (place === 'headers') {
    const block = Buffer.concat([headerBlock(host, '/seen'), literal('x-before', 'b'), extra, literal('x-after', 'a')]);
    client.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, block));
  } else {
    client.send(
      frame(HEADERS, END_HEADERS, 1, headerBlock(host, '/seen', 'POST')),
      frame(DATA, 0, 1, Buffer.from('x')),
      frame(HEADERS, END_STREAM | END_HEADERS, 1, Buffer.concat([literal('x-before', 'b'), extra])),
    );
  }
  await client.until(() => client.isAnswered(1));
  const isReset = client.of(RST_STREAM).length > 0;
  client.destroy();
  return { isReset, reached: upstream.seen.length > 0, bytes: upstream.bytes };
}

function assertNothingOf({ reached, bytes }: Outcome, what: string): void {
  assert.ok(!bytes.includes(MARK) && !/smuggled/.test(bytes), `${what} reached the upstream: ${JSON.stringify(bytes)}`);
  assert.ok(
    upstream.seen.every(({ url }) => url === '/seen'),
    what,
  );
  // The request is forwarded without the field: the runtime drops it before anybody can see it.
  if (reached) assert.match(bytes, /x-before: b\r\n/);
}

suite('malformed HTTP/2 fields (RFC 9113 §8.2.1)', () => {
  test('well-formed ones are forwarded', async () => {
    assert.ok((await send([['x-odd', MARK]])).bytes.includes(`x-odd: ${MARK}\r\nx-after: a\r\n`));
    assert.ok((await send([['x-odd', MARK]], 'trailers')).bytes.includes(`x-odd: ${MARK}\r\n`));
  });

  for (const [name, bad] of Object.entries(BAD_BYTES)) {
    test(`${name} in a value: the field is not forwarded`, async () => {
      for (const value of [`${MARK}${bad}`, `${bad}${MARK}`, `x${bad}${MARK}`]) {
        assertNothingOf(await send([['x-odd', value]]), JSON.stringify(value));
        assertNothingOf(await send([['x-odd', value]], 'trailers'), `trailer ${JSON.stringify(value)}`);
      }
    });

    test(`${name} in a name: the field is not forwarded`, async () => {
      for (const field of [`x-odd${bad}`, `${bad}x-odd`, `x${bad}odd`]) {
        assertNothingOf(await send([[field, MARK]]), JSON.stringify(field));
        assertNothingOf(await send([[field, MARK]], 'trailers'), `trailer ${JSON.stringify(field)}`);
      }
    });
  }

  test('colon, space, capitals, non-ASCII and nothing as a name: the field is not forwarded', async () => {
    for (const field of [
      'x-odd:',
      'x odd',
      ' x-odd',
      'x-odd ',
      'X-Odd',
      'x-\xf6dd',
      'x-\xc3\xb6dd',
      '',
      ':odd',
      'x(odd)',
      'x"odd',
    ]) {
      assertNothingOf(await send([[field, MARK]]), JSON.stringify(field));
      assertNothingOf(await send([[field, MARK]], 'trailers'), `trailer ${JSON.stringify(field)}`);
    }
  });

  test('modules do not see it', async () => {
    upstream.answer = (_request, response) => {
      response.setHeader('content-type', 'text/plain');
      response.end('x'.repeat(5000));
    };
    const encodings: boolean[] = [];
    for (const coding of ['gzip', 'gzip\0', '\rgzip']) {
      const client = await RawHttp2.open(world, host);
      const block = Buffer.concat([headerBlock(host), literal('accept-encoding', coding)]);
      client.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, block));
      await client.until(() => client.frames.some(({ type, flags }) => type === DATA && (flags & END_STREAM) !== 0));
      encodings.push(Buffer.concat(client.of(DATA).map(({ payload }) => payload)).length < 5000);
      client.destroy();
    }
    upstream.answer = null;
    assert.deepEqual(encodings, [true, false, false]);
    for (const chain of ['198.51.100.7\n', '198.51.100.7\0, 10.0.0.1']) {
      const { bytes } = await send([['x-forwarded-for', chain]]);
      assert.match(bytes, /x-forwarded-for: 127\.0\.0\.1\r\n/);
    }
  });

  test('a malformed pseudo-header rejects the request', async () => {
    for (const [field, value] of [
      [':path', `/${MARK}\r\nx: y`],
      [':path', `/${MARK}\0`],
      [':path', `/${MARK} x`],
      [':authority', `${host}\r\n${MARK}`],
      [':authority', `${host} ${MARK}`],
      [':method', `GET ${MARK}`],
      [':method', `GET\r\n${MARK}`],
    ] as const) {
      upstream.forget();
      const client = await RawHttp2.open(world, host);
      const pseudo = { ':method': 'GET', ':scheme': 'https', ':authority': host, ':path': '/', [field]: value };
      const block = Buffer.concat(Object.entries(pseudo).map(([name, text]) => literal(name, text)));
      client.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, block));
      await client.until(() => client.isAnswered(1));
      client.destroy();
      assert.equal(upstream.bytes, '', `${field}: ${JSON.stringify(value)}`);
    }
  });
});

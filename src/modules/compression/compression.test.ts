import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { trafficRequest } from '../../../test/support/traffic-request.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import type { ResponseTransform } from '../contract/prepared-module.ts';
import { compressResponse } from './compression.ts';
import { MIN_BODY_BYTES } from './eligibility.ts';

interface Given {
  readonly method?: string;
  readonly request?: Readonly<Record<string, string>>;
  readonly status?: number;
  readonly headers?: HeaderList;
  readonly bodyBytes?: number | null;
}

const JSON_TYPE = ['content-type', 'application/json'];

function answer(given: Given): ResponseTransform | null {
  const sent: Readonly<Record<string, string>> = given.request ?? { 'accept-encoding': 'gzip' };
  const request = trafficRequest(given.method, '/', (name) => sent[name]);
  const { status = 200, headers = JSON_TYPE, bodyBytes = null } = given;
  return compressResponse(request, { status, headers, bodyBytes });
}

function valuesOf(headers: HeaderList | undefined, name: string): readonly string[] {
  return (headers ?? []).filter((_, at) => at % 2 === 1 && headers?.[at - 1] === name);
}

/** `coded`: compressed. `varies`: only Vary is added. `same`: unchanged. */
function fate(given: Given): string {
  const change = answer(given);
  if (change === null) return 'same';
  return change.createStream === null ? 'varies' : `coded ${valuesOf(change.headers, 'content-encoding').join()}`;
}

const FATES: readonly (readonly [name: string, given: Given, expected: string])[] = [
  ['a JSON response of unknown length', {}, 'coded gzip'],
  ['of known length', { bodyBytes: 50_000 }, 'coded gzip'],
  ['of the smallest length', { bodyBytes: MIN_BODY_BYTES }, 'coded gzip'],
  ['a smaller one, for nobody', { bodyBytes: MIN_BODY_BYTES - 1 }, 'same'],
  ['an empty one', { bodyBytes: 0 }, 'same'],
  ['an error page', { status: 404 }, 'coded gzip'],
  ['a client that accepts nothing', { request: {} }, 'varies'],
  ['a client that refuses', { request: { 'accept-encoding': '*;q=0' } }, 'varies'],
  [
    'a client that wants it untouched',
    { request: { 'accept-encoding': 'br', 'cache-control': 'no-cache, No-Transform' } },
    'varies',
  ],
  ['HEAD', { method: 'HEAD', bodyBytes: 0 }, 'varies'],
  ['POST', { method: 'POST' }, 'coded gzip'],
  ['an answered CONNECT', { method: 'CONNECT' }, 'same'],
  ['101', { status: 101, headers: ['upgrade', 'websocket'] }, 'same'],
  ['103', { status: 103 }, 'same'],
  ['204', { status: 204, bodyBytes: 0 }, 'same'],
  ['205', { status: 205, bodyBytes: 0 }, 'same'],
  ['206', { status: 206, headers: [...JSON_TYPE, 'content-range', 'bytes 0-1999/5000'] }, 'varies'],
  ['206 in several parts', { status: 206, headers: ['content-type', 'multipart/byteranges; boundary=x'] }, 'same'],
  [
    'Content-Range with another status',
    { status: 416, headers: [...JSON_TYPE, 'content-range', 'bytes */5000'] },
    'varies',
  ],
  ['304 without type', { status: 304, headers: ['etag', '"a"'], bodyBytes: 0 }, 'varies'],
  ['304 of an image', { status: 304, headers: ['content-type', 'image/png'], bodyBytes: 0 }, 'same'],
  ['encoded by the upstream', { headers: [...JSON_TYPE, 'content-encoding', 'br'] }, 'same'],
  [
    'encoded by the upstream, in a second line',
    { headers: [...JSON_TYPE, 'content-encoding', 'identity', 'content-encoding', 'gzip'] },
    'same',
  ],
  ['encoded with something unknown', { headers: [...JSON_TYPE, 'content-encoding', 'aes128gcm'] }, 'same'],
  ['encoded with nothing', { headers: [...JSON_TYPE, 'content-encoding', 'Identity'] }, 'coded gzip'],
  ['encoded with an empty word', { headers: [...JSON_TYPE, 'content-encoding', ''] }, 'coded gzip'],
  ['no-transform', { headers: [...JSON_TYPE, 'cache-control', 'no-transform'] }, 'same'],
  [
    'no-transform among others',
    { headers: [...JSON_TYPE, 'cache-control', 'public, NO-TRANSFORM ,max-age=1'] },
    'same',
  ],
  [
    'no-transform in a second line',
    { headers: [...JSON_TYPE, 'cache-control', 'public', 'cache-control', 'no-transform'] },
    'same',
  ],
  [
    'a word that only contains it',
    { headers: [...JSON_TYPE, 'cache-control', 'x-no-transform, no-transform-x'] },
    'coded gzip',
  ],
  ['signed', { headers: [...JSON_TYPE, 'signature-input', 'a=("content-digest")'] }, 'same'],
  ['an image', { headers: ['content-type', 'image/png'] }, 'same'],
  ['no type', { headers: [] }, 'same'],
  ['gRPC', { headers: ['content-type', 'application/grpc+json'] }, 'same'],
  ['an event stream', { headers: ['content-type', 'text/event-stream'] }, 'coded gzip'],
];

suite('the treatment of a response', () => {
  for (const [name, given, expected] of FATES) test(`${name}: ${expected}`, () => assert.equal(fate(given), expected));
});

test('an address whose responses hold as many compressors as are free gets others uncompressed', () => {
  const made = Array.from({ length: 256 }, () => answer({})?.createStream?.());
  assert.equal(fate({}), 'varies');
  assert.equal(fate({ bodyBytes: 2000 }), 'coded gzip', 'a short one takes none');
  for (const stream of made) stream?.destroy();
});

const VARIES: readonly (readonly [upstream: readonly string[], expected: readonly string[]])[] = [
  [[], ['Accept-Encoding']],
  [[''], ['Accept-Encoding']],
  [['Origin'], ['Origin, Accept-Encoding']],
  [['Accept-Encoding'], ['Accept-Encoding']],
  [['accept-encoding'], ['accept-encoding']],
  [['Origin,ACCEPT-ENCODING ,Cookie'], ['Origin,ACCEPT-ENCODING ,Cookie']],
  [
    ['Origin', 'Accept-Encoding'],
    ['Origin', 'Accept-Encoding'],
  ],
  [
    ['Origin', 'Cookie'],
    ['Origin', 'Cookie, Accept-Encoding'],
  ],
  [['*'], ['*']],
  [
    ['Origin', ' * '],
    ['Origin', ' * '],
  ],
  [['X-Accept-Encoding'], ['X-Accept-Encoding, Accept-Encoding']],
];

suite('Vary', () => {
  for (const [upstream, expected] of VARIES) {
    const headers = [...JSON_TYPE, ...upstream.flatMap((value) => ['vary', value])];
    test(`${JSON.stringify(upstream)} → ${JSON.stringify(expected)}, compressed or not`, () => {
      assert.deepEqual(valuesOf(answer({ headers })?.headers, 'vary'), expected);
      assert.deepEqual(valuesOf(answer({ headers, request: {} })?.headers ?? headers, 'vary'), expected);
    });
  }

  test('is idempotent', () => {
    const once = answer({ request: {} })?.headers ?? [];
    assert.equal(answer({ request: {}, headers: once }), null);
  });
});

const TAGS: readonly (readonly [upstream: string, coded: readonly string[]])[] = [
  ['"abc"', ['W/"abc"']],
  ['""', ['W/""']],
  ['W/"abc"', ['W/"abc"']],
  ['abc', []],
  ['w/"abc"', []],
  ['"a"b"', []],
];

suite('ETag', () => {
  for (const [upstream, coded] of TAGS) {
    test(`${upstream} → ${JSON.stringify(coded)} when coded, untouched when not`, () => {
      const headers = [...JSON_TYPE, 'etag', upstream];
      assert.deepEqual(valuesOf(answer({ headers })?.headers, 'etag'), coded);
      assert.deepEqual(valuesOf(answer({ headers, request: {} })?.headers, 'etag'), [upstream]);
    });
  }

  const asked: readonly (readonly [ifNoneMatch: string | null, expected: string])[] = [
    ['W/"abc"', 'W/"abc"'],
    ['"x", W/"abc"', 'W/"abc"'],
    ['"abc"', '"abc"'],
    ['"abc", W/"abc"', '"abc"'],
    ['W/"abcd"', '"abc"'],
    ['*', '"abc"'],
    [null, '"abc"'],
  ];
  for (const [ifNoneMatch, expected] of asked) {
    test(`a 304 with "abc" to a client that sent ${ifNoneMatch} has ${expected}`, () => {
      const request: Record<string, string> = ifNoneMatch === null ? {} : { 'if-none-match': ifNoneMatch };
      const change = answer({ status: 304, headers: ['etag', '"abc"'], bodyBytes: 0, request });
      assert.deepEqual(change?.headers, ['etag', expected, 'vary', 'Accept-Encoding']);
    });
  }
});

suite('headers and trailers of a coded response', () => {
  test('drops headers that no longer apply and keeps the rest in order', () => {
    const headers = [
      ...['date', 'x', 'content-type', 'text/html', 'content-length', '9000', 'accept-ranges', 'bytes'],
      ...[
        'content-md5',
        'a',
        'digest',
        'b',
        'repr-digest',
        'c',
        'content-digest',
        'd',
        'set-cookie',
        'a=1',
        'set-cookie',
        'b=2',
      ],
    ];
    assert.deepEqual(answer({ headers })?.headers, [
      ...['date', 'x', 'content-type', 'text/html', 'set-cookie', 'a=1', 'set-cookie', 'b=2'],
      ...['content-encoding', 'gzip', 'vary', 'Accept-Encoding'],
    ]);
  });

  test('drops digests from the trailers', () => {
    const trailers = ['server-timing', 'a', 'repr-digest', 'b', 'digest', 'c', 'x', 'digest'];
    assert.deepEqual(answer({})?.trailers?.(trailers), ['server-timing', 'a', 'x', 'digest']);
  });

  test('replaces "identity", so that there is one Content-Encoding', () => {
    const change = answer({ headers: [...JSON_TYPE, 'content-encoding', 'identity'] });
    assert.deepEqual(valuesOf(change?.headers, 'content-encoding'), ['gzip']);
  });

  test('names Accept-Encoding once and never keeps a strong tag, whatever the upstream sends', () => {
    const header = fc.constantFrom<readonly [string, string]>(
      ...(['Origin', 'accept-encoding', 'Cookie, Accept-Encoding', ''].map((value) => ['vary', value]) as [
        string,
        string,
      ][]),
      ['etag', '"a"'],
      ['etag', 'W/"b"'],
      ['etag', 'c'],
      ['digest', 'x'],
      ['x-other', 'y'],
    );
    const list = fc.uniqueArray(header, {
      selector: ([name, value]) => (/accept-encoding/i.test(value) ? 'once' : `${name}:${value}`),
    });
    fc.assert(
      fc.property(list, (pairs) => {
        const change = answer({ headers: [...JSON_TYPE, ...pairs.flat()] });
        assert.equal(
          valuesOf(change?.headers, 'vary')
            .join()
            .match(/accept-encoding/gi)?.length,
          1,
        );
        for (const tag of valuesOf(change?.headers, 'etag')) assert.match(tag, /^W\/"/);
        assert.deepEqual(valuesOf(change?.headers, 'digest'), []);
      }),
    );
  });
});

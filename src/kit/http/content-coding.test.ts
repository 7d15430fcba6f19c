import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { CODINGS, type Coding, chooseCoding, isCompressibleType } from './content-coding.ts';

const COMPRESSED = `text/html|text/html; charset=utf-8|TEXT/HTML ;charset=UTF-8|text/plain|text/css|text/javascript|text/csv
|text/event-stream|text/x-anything|application/json|application/json;charset=utf-8|application/problem+json|application/ld+json
|application/javascript|application/xml|application/rss+xml|application/xhtml+xml|application/vnd.api+json|application/x-ndjson
|application/vnd.x+json-seq|application/wasm|application/manifest+json|application/vnd.github.v3+json|image/svg+xml|image/bmp
|image/x-icon|font/ttf|font/otf|application/vnd.ms-fontobject|model/gltf+json|application/yaml`;

const LEFT_ALONE = `image/png|image/jpeg|image/webp|image/avif|image/gif|video/mp4|audio/mpeg|audio/wav|application/zip
|application/gzip|application/zstd|application/x-7z-compressed|application/pdf|font/woff|font/woff2|application/octet-stream
|application/grpc|application/grpc+proto|application/grpc+json|application/grpc-web+proto|application/grpc-web-text
|application/vnd.openxmlformats-officedocument.wordprocessingml.document|application/epub+zip|multipart/byteranges; boundary=x
|multipart/x-mixed-replace|application/x-unknown|json|text||;|application/jsonx|xtext/html`;

function listed(list: string): readonly string[] {
  return list.replaceAll('\n', '').split('|');
}

suite('isCompressibleType', () => {
  for (const type of listed(COMPRESSED)) test(`compresses ${type}`, () => assert.equal(isCompressibleType(type), true));
  for (const type of listed(LEFT_ALONE))
    test(`leaves "${type}" alone`, () => assert.equal(isCompressibleType(type), false));
  test('leaves a body of unknown type alone', () => assert.equal(isCompressibleType(undefined), false));
});

const CASES: readonly (readonly [name: string, header: string | undefined, expected: Coding | null])[] = [
  ['no header: nothing is known of the client', undefined, null],
  ['an empty header asks for no coding (RFC 9110 §12.5.3)', '', null],
  ['only separators', ' , ,\t,', null],
  ['one coding', 'gzip', 'gzip'],
  ['a browser', 'gzip, deflate, br, zstd', 'zstd'],
  ['an older browser', 'gzip, deflate, br', 'br'],
  ['curl --compressed without brotli', 'deflate, gzip', 'gzip'],
  ['deflate alone', 'deflate', 'deflate'],
  ['an unknown coding', 'compress, lzma', null],
  ['RFC 9110 example 1', 'compress, gzip', 'gzip'],
  ['RFC 9110 example 2', '*', 'zstd'],
  ['RFC 9110 example 3', 'compress;q=0.5, gzip;q=1.0', 'gzip'],
  ['RFC 9110 example 4', 'gzip;q=1.0, identity; q=0.5, *;q=0', 'gzip'],
  ['a refused coding is not chosen by the wildcard (Traefik 9734)', 'gzip;q=0,*', 'zstd'],
  ['the wildcard is only for codings that are not named', 'zstd;q=0, br;q=0, *;q=0.5', 'gzip'],
  ['everything refused', '*;q=0', null],
  ['everything refused but one', '*;q=0, deflate', 'deflate'],
  ['everything named refused', 'gzip;q=0, br;q=0.0, zstd;q=0.00, deflate;q=0.000', null],
  ['weights before preference', 'br;q=1.0, gzip;q=0.8, *;q=0.1', 'br'],
  ['the wildcard can outweigh a name', 'br;q=0.1, gzip;q=0.1, *;q=0.5', 'zstd'],
  ['the third decimal counts', 'zstd;q=0.998, br;q=0.999', 'br'],
  ['a weight of almost nothing', 'gzip;q=0.001', 'gzip'],
  ['a weight without decimals', 'gzip;q=1., br;q=0.', 'gzip'],
  ['identity alone', 'identity', null],
  ['identity preferred', 'identity, gzip;q=0.5', null],
  ['identity equal: the coding', 'identity;q=0.5, gzip;q=0.5', 'gzip'],
  ['identity refused with nothing else: not our business', 'identity;q=0', null],
  ['identity refused, a coding allowed', 'identity;q=0, gzip', 'gzip'],
  ['identity refused by the wildcard', 'gzip;q=0.1, *;q=0', 'gzip'],
  ['names and "q" in any case', 'GZip;Q=0.5, BR;q=0.4', 'gzip'],
  ['x-gzip is gzip', 'x-gzip', 'gzip'],
  ['x-gzip refused is gzip refused', 'x-gzip;q=0, *;q=0.1, gzip', 'zstd'],
  ['space and tab around everything', '\tgzip ;\t q=0.5 , br ; q=0.6\t', 'br'],
  ['twice, the lower weight last', 'gzip, gzip;q=0', null],
  ['twice, the lower weight first', 'gzip;q=0, gzip', null],
  ['the wildcard twice', '*, *;q=0', null],
  ['a weight above 1 cannot be read: refused', 'gzip;q=1.5', null],
  ['1.001', 'gzip;q=1.001', null],
  ['a fourth decimal', 'gzip;q=0.5000', null],
  ['a negative weight', 'gzip;q=-1', null],
  ['a weight that is not a number', 'gzip;q=high, deflate', 'deflate'],
  ['a weight without number', 'gzip;q=, deflate', 'deflate'],
  ['a quoted weight', 'gzip;q="1", deflate', 'deflate'],
  ['spaces around "="', 'gzip;q = 1, deflate', 'deflate'],
  ['an exponent', 'gzip;q=1e0, deflate', 'deflate'],
  ['a decimal point first', 'gzip;q=.5, deflate', 'deflate'],
  ['a weight that cannot be read is not rescued by the wildcard', 'zstd;q=x, *', 'br'],
  ['other parameters', 'gzip;level=9, deflate', 'deflate'],
  ['a second parameter', 'gzip;q=1;x=1, deflate', 'deflate'],
  ['a semicolon and nothing', 'gzip;, deflate', 'deflate'],
  ['a nameless member', ';q=1, gzip', 'gzip'],
  ['two words in one member', 'gzip br, deflate', 'deflate'],
  ['semicolons for commas', 'gzip;br;zstd', null],
  ['a name that only starts like one', 'gzipped, brotli, zstd2', null],
  ['other white space is no white space', 'gzip\u00a0, deflate', 'deflate'],
];

const RANK = new Map<string, number>(CODINGS.map((coding, at) => [coding, at]));

suite('chooseCoding', () => {
  for (const [name, header, expected] of CASES) {
    test(`${name}: ${JSON.stringify(header)} → ${expected}`, () => assert.equal(chooseCoding(header), expected));
  }

  const known = fc.constantFrom(...CODINGS, 'identity', '*', 'compress');
  const weights = fc.uniqueArray(fc.tuple(known, fc.integer({ min: 0, max: 1000 })), { selector: ([name]) => name });

  test('chooses the heaviest coding that is not refused, by preference on a tie, in any order', () => {
    fc.assert(
      fc.property(weights, fc.infiniteStream(fc.nat()), (list, order) => {
        const written = list.map(([name, weight]) => `${name};q=${(weight / 1000).toFixed(3)}`);
        const shuffled = written
          .map((member) => [order.next().value as number, member] as const)
          .sort(([one], [other]) => one - other)
          .map(([, member]) => member);
        const table = new Map<string, number>(list);
        const weightOf = (name: string): number => table.get(name) ?? table.get('*') ?? 0;
        const ranked = CODINGS.toSorted(
          (one, other) => weightOf(other) - weightOf(one) || (RANK.get(one) ?? 0) - (RANK.get(other) ?? 0),
        );
        const best = ranked[0] as Coding;
        const isTaken = weightOf(best) > 0 && weightOf(best) >= (table.get('identity') ?? 0);
        assert.equal(chooseCoding(shuffled.join(', ')), isTaken ? best : null);
      }),
    );
  });

  test('never chooses a coding that the header does not name or refuses', () => {
    const piece = fc.constantFrom(
      ...CODINGS,
      'x-gzip',
      'identity',
      '*',
      ';',
      ',',
      'q=',
      'Q=',
      '0',
      '1',
      '.5',
      ' ',
      '=',
      '"',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece).map((parts) => parts.join('')),
          fc.string(),
        ),
        (text) => {
          const chosen = chooseCoding(text);
          if (chosen === null) return;
          assert(text.toLowerCase().includes(chosen) || text.includes('*'), text);
          assert.equal(chooseCoding(`${text},${chosen};q=0`) === chosen, false, text);
        },
      ),
      { numRuns: 2000 },
    );
  });
});

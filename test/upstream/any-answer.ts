import fc from 'fast-check';

/**
 * Responses near the border between valid and invalid: valid ones assembled from parts, some of the parts known from
 * smuggling attacks, some bytes then changed, dropped or doubled.
 */
const versions = fc.oneof(
  { weight: 20, arbitrary: fc.constant('HTTP/1.1') },
  fc.constantFrom(
    'HTTP/1.0',
    'HTTP/1.2',
    'HTTP/2.0',
    'HTTP/11',
    'http/1.1',
    'HTTP/ 1.1',
    'ICE/1.0',
    'RTSP/1.0',
    '\r\nHTTP/1.1',
  ),
);
const statuses = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom('200 OK', '404 Not Found', '204 No Content', '304 Not Modified') },
  fc.constantFrom(
    '200',
    '200 ',
    '205 Reset',
    '999 Odd',
    '099 X',
    '20 X',
    '2000 X',
    '200\tOK',
    '200 \xe4\x7f',
    '0200 OK',
    '-20 X',
  ),
);
const headers = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      'Date: now',
      'X-A: b',
      'x-empty:',
      'Set-Cookie: a=b; c',
      'X-Obs: \xfc\xff',
      'Connection: close',
      'Connection: keep-alive',
      'Keep-Alive: timeout=5',
      'Trailer: X-T',
    ),
  },
  fc.constantFrom(
    'Content-Length: 5',
    'Content-Length: 05',
    'Content-Length: +5',
    'Content-Length: 5, 5',
    'Content-Length:5 ',
    'Content-Length: 5 5',
    'Content-Length : 5',
    'content-length: 0',
    'Content_Length: 9',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: Chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked, gzip',
    'Transfer-Encoding: identity',
    'Transfer-Encoding:\tchunked ',
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding : chunked',
    'Upgrade: websocket',
    'Connection: upgrade',
    'X-A: b\r\n folded',
    'X-A: b\rc',
    'X-A: b\nc: d',
    'X-A: \0',
    'X-A: \x7f',
    'X A: b',
    ': b',
    'X-A',
    '\x80: b',
  ),
);
const sizes = fc.constantFrom(
  '5',
  '05',
  '0005',
  '5;a',
  '5;a=b',
  '5;a="b;c"',
  '5;a="b\\"c"',
  '5;',
  '5;=',
  '5;a=',
  '5;a="',
  '5 ',
  ' 5',
  '5 ;a',
  '+5',
  '0x5',
  '5\t',
  '5;\x01',
  '5;a b',
  '5;a=b c',
  '5;a;b;c=d',
  '5;a="\x80"',
  '5;a=b"c"',
  'g',
  '',
);
const lineBreaks = fc.oneof(
  { weight: 12, arbitrary: fc.constant('\r\n') },
  fc.constantFrom('\n', '\r', '\r\r\n', '\n\r', ''),
);
const chunked = fc
  .tuple(
    sizes,
    lineBreaks,
    lineBreaks,
    fc.constantFrom('', 'X-T: 1\r\n', 'X-T 1\r\n', ' x\r\n', 'X-T: 1\n'),
    lineBreaks,
  )
  .map(([size, first, second, trailer, last]) => `${size}${first}hello${second}0\r\n${trailer}${last}`);
const bodies = fc.oneof(fc.constant('hello'), fc.constant(''), fc.constant('5\r\nhello\r\n0\r\n\r\n'), chunked);

const assembled = fc
  .tuple(
    fc.constantFrom('', '', '', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 X\r\nLink: a\r\n\r\n'),
    versions,
    statuses,
  )
  .chain(([before, version, status]) =>
    fc
      .tuple(fc.array(headers, { maxLength: 4 }), fc.boolean(), lineBreaks, bodies)
      .map(([lines, isChunked, lineBreak, body]) => {
        const all = isChunked ? [...lines, 'Transfer-Encoding: chunked'] : lines;
        return `${before}${version} ${status}${lineBreak}${all.map((line) => `${line}\r\n`).join('')}\r\n${body}`;
      }),
  );

const changes = fc.array(
  fc.record({
    kind: fc.constantFrom('replace', 'drop', 'double', 'insert'),
    place: fc.double({ min: 0, max: 1, noNaN: true }),
    byte: fc.oneof(fc.constantFrom(0, 9, 10, 13, 32, 34, 44, 48, 58, 59, 61, 127), fc.integer({ min: 0, max: 255 })),
  }),
  { maxLength: 2 },
);

export const anyAnswer: fc.Arbitrary<Buffer> = fc
  .tuple(assembled, fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, changes))
  .map(([text, edits]) => {
    let bytes = [...Buffer.from(text, 'latin1')];
    for (const { kind, place, byte } of edits) {
      const at = Math.floor(place * bytes.length);
      const put = kind === 'drop' ? [] : kind === 'double' ? [bytes[at] ?? byte, bytes[at] ?? byte] : [byte];
      bytes = bytes.toSpliced(at, kind === 'insert' ? 0 : 1, ...put);
    }
    return Buffer.from(bytes);
  });

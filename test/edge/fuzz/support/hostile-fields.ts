import type { SeededRandom } from './seeded-random.ts';

export type Field = readonly [string, string];

/** Names that mean something to a hop, to the edge or to HTTP/2, that may occur only once, or that are invalid. */
const NAMES = [
  ...[
    'connection',
    'keep-alive',
    'proxy-connection',
    'transfer-encoding',
    'upgrade',
    'te',
    'trailer',
    'http2-settings',
  ],
  ...['content-length', 'host', 'expect', 'date', 'cookie', 'set-cookie', 'x-forwarded-for', 'forwarded'],
  ...['etag', 'content-type', 'location', 'age', 'retry-after', 'x-content-type-options', 'access-control-max-age'],
  ...[
    'content-encoding',
    'accept-encoding',
    'www-authenticate',
    'authorization',
    'proxy-authenticate',
    'vary',
    'range',
  ],
  ...['postern-request-id', 'postern-tunnel', 'postern-tunnel-error', 'postern-tunnel-address', 'postern-error-code'],
  ...[
    'sec-websocket-key',
    'sec-websocket-accept',
    'sec-websocket-version',
    'x',
    'X-Upper',
    'x_y',
    '__proto__',
    'constructor',
  ],
  ...[':status', ':path', ':method', ':authority', ':scheme', ':protocol', ':unknown', ':'],
  ...['', ' ', 'x y', 'x\0y', 'x\r\ny', 'caf\xe9', '\xff', '(', 'x:', '\t', '"', 'n'.repeat(300)],
];
const VALUES = [
  ...['', ' ', 'v', 'a, b', '"', 'x'.repeat(200), 'caf\xe9', '\xff\xfe', '\u00a0'],
  ...['\0', 'a\0b', 'a\rb', 'a\nb', 'a\r\nx-injected: 1', '\x7f', '\x01', '\t', ' v ', 'v\r\n folded'],
  ...['0', '-1', '00', '5', '1e3', '+5', '5, 5', '18446744073709551616', '9007199254740993', '0x5'],
  ...['chunked', 'Chunked', 'gzip, chunked', 'identity', 'close', 'keep-alive, x', 'upgrade', 'websocket', 'h2c'],
  ...['100-continue', 'trailers', 'gzip', 'timeout=0', 'timeout=-1', 'timeout=99999999999', 'NTLM', 'Negotiate abc'],
  ...['text/html', 'text/event-stream', 'application/grpc', 'multipart/byteranges; boundary=x', 'refused', 'closed'],
];

export function hostileField(random: SeededRandom): Field {
  const value = random.chance(0.02) ? 'y'.repeat(random.pick([4_000, 20_000, 70_000])) : random.pick(VALUES);
  return [random.pick(NAMES), value];
}

export function hostileFields(random: SeededRandom): readonly Field[] {
  const count = random.chance(0.03) ? random.pick([90, 300, 700]) : random.int(4);
  const fields = [...random.list(count, () => hostileField(random))];
  if (fields.length > 0 && random.chance(0.3)) fields.push(random.pick(fields));
  return fields;
}

/** Fields that any hop forwards. */
export function honestFields(random: SeededRandom): readonly Field[] {
  const known: readonly Field[] = [
    ['x-plain', 'value'],
    ['accept-encoding', 'gzip, br'],
    ['content-type', 'text/plain'],
    ['etag', '"1"'],
    ['set-cookie', 'a=b'],
    ['set-cookie', 'c=d'],
  ];
  return known.filter(() => random.chance(0.3));
}

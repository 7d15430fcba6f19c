import { type Field, honestFields, hostileField, hostileFields } from './hostile-fields.ts';
import type { SeededRandom } from './seeded-random.ts';

const METHODS = [
  'GET',
  'POST',
  'PUT',
  'HEAD',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'DELETE',
  'PATCH',
  'get',
  '',
  'A'.repeat(90),
  'G T',
  'PRI',
];
const TARGETS = [
  '/',
  '/x?y=z',
  '*',
  '//',
  '/%2e%2e/',
  '/a%2fb',
  '/\0',
  '',
  ':',
  '/\xe9',
  '/#x',
  '/\\',
  `/${'p'.repeat(9_000)}`,
  '/.postern/x',
];
const VERSIONS = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', 'HTTP/11', '', 'HTTP/1.1 '];
const STATUSES = [
  '100',
  '101',
  '102',
  '103',
  '199',
  '204',
  '205',
  '206',
  '301',
  '304',
  '401',
  '421',
  '500',
  '599',
  '600',
  '999',
];
const NO_STATUSES = ['99', '000', '1000', 'abc', '', '-1', '2 0', '20\x30\0'];

/** Parts of a request, each of which may be the last one sent. */
export function http1Request(random: SeededRandom, host: string, isHostile: boolean): readonly Buffer[] {
  const body = http1Body(random, isHostile, random.chance(0.6));
  const isOdd = (): boolean => isHostile && random.chance(0.15);
  const method = isOdd() ? random.pick(METHODS) : body.parts.length > 0 ? 'PUT' : random.pick(['GET', 'HEAD', 'GET']);
  const target = isOdd() ? random.pick([...TARGETS, `https://${host}/`, 'https://other.test/']) : '/';
  const version = isOdd() ? random.pick(VERSIONS) : 'HTTP/1.1';
  const hosts: readonly Field[] = isOdd()
    ? random.pick([
        [],
        [
          ['host', host],
          ['host', host],
        ],
        [['host', '']],
        [['host', 'x y']],
      ])
    : [['host', host]];
  const fields = [...hosts, ...body.fields, ...(isHostile ? hostileFields(random) : honestFields(random))];
  if (isHostile && random.chance(0.1))
    fields.push(['connection', 'upgrade'], ['upgrade', 'websocket'], ['sec-websocket-key', 'x']);
  const parts = [
    latin1(`${method} ${target} ${version}${lineEnd(random, isHostile)}`),
    ...fieldLines(random, fields, isHostile),
    ...body.parts,
  ];
  if (isHostile && random.chance(0.1)) parts.push(latin1(`GET /next HTTP/1.1\r\nhost: ${host}\r\n\r\n`));
  if (isHostile && random.chance(0.05))
    parts.push(latin1(random.pick(['\0\0\0', '0\r\n\r\n', 'GET', 'x'.repeat(100)])));
  return parts;
}

export function http1Answer(random: SeededRandom, isHostile: boolean): readonly Buffer[] {
  const body = http1Body(random, isHostile, true);
  const parts: Buffer[] = [];
  const early = isHostile && random.chance(0.3) ? random.pick([1, 2, 25]) : 0;
  for (let at = 0; at < early; at += 1) {
    const status = random.pick(['100', '102', '103', '103', '101', '150']);
    parts.push(
      latin1(`HTTP/1.1 ${status} Early\r\n`),
      ...fieldLines(random, random.chance(0.5) ? hostileFields(random) : [], true),
    );
  }
  const version = isHostile && random.chance(0.05) ? random.pick(VERSIONS) : 'HTTP/1.1';
  const status =
    !isHostile || random.chance(0.5) ? '200' : random.chance(0.8) ? random.pick(STATUSES) : random.pick(NO_STATUSES);
  const reason = isHostile && random.chance(0.1) ? random.pick(['', '\xe9', 'a\0b', 'r'.repeat(5_000), '\r']) : 'OK';
  const fields = [...body.fields, ...(isHostile ? hostileFields(random) : honestFields(random))];
  parts.push(
    latin1(`${version} ${status} ${reason}${lineEnd(random, isHostile)}`),
    ...fieldLines(random, fields, isHostile),
    ...body.parts,
  );
  if (isHostile && random.chance(0.15))
    parts.push(latin1(random.pick(['more', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', '\r\n', '0\r\n\r\n'])));
  return parts;
}

function fieldLines(random: SeededRandom, fields: readonly Field[], isHostile: boolean): readonly Buffer[] {
  const lines = fields.map(([name, value]) => `${name}: ${value}${lineEnd(random, isHostile)}`);
  if (isHostile && random.chance(0.03)) lines.push(random.pick(['no colon\r\n', ': \r\n', ' folded\r\n', 'x : y\r\n']));
  return [latin1(lines.join('')), latin1(lineEnd(random, isHostile))];
}

function lineEnd(random: SeededRandom, isHostile: boolean): string {
  return isHostile && random.chance(0.01) ? random.pick(['\n', '\r', '\r\r\n', ' \r\n']) : '\r\n';
}

function http1Body(
  random: SeededRandom,
  isHostile: boolean,
  hasBody: boolean,
): { readonly fields: readonly Field[]; readonly parts: readonly Buffer[] } {
  if (!hasBody) return { fields: [], parts: [] };
  const data = 'd'.repeat(random.pick([0, 1, 10, 3_000, 20_000]));
  if (random.chance(0.4)) {
    const announced =
      isHostile && random.chance(0.3) ? random.pick([data.length + 5, Math.max(0, data.length - 1), 0]) : data.length;
    return { fields: [['content-length', String(announced)]], parts: data.length === 0 ? [] : [latin1(data)] };
  }
  if (isHostile && random.chance(0.1)) return { fields: [], parts: [latin1(data)] };
  const chunks = random.list(1 + random.int(3), () => latin1(chunk(random, data, isHostile)));
  const trailers = isHostile && random.chance(0.3) ? random.list(1 + random.int(3), () => hostileField(random)) : [];
  const lines = trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return { fields: [['transfer-encoding', 'chunked']], parts: [...chunks, latin1(`0\r\n${lines}\r\n`)] };
}

function chunk(random: SeededRandom, data: string, isHostile: boolean): string {
  if (isHostile && random.chance(0.15)) {
    return random.pick([
      'zz\r\n',
      '-1\r\n',
      'ffffffffffffffffff\r\n',
      '5;x\r\nhello\r\n',
      '5\nhello\n',
      '5\r\nhelloX',
      `5;${'e'.repeat(5_000)}\r\nhello\r\n`,
      '\r\n',
      ' 5\r\nhello\r\n',
    ]);
  }
  return data.length === 0 ? '' : `${data.length.toString(16)}\r\n${data}\r\n`;
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

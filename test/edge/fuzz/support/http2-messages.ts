import { FLAG, FRAME, frame, goawayFrame, headerBlock, resetFrame, uint32 } from '../../../support/http2-frames.ts';
import { type Field, honestFields, hostileFields } from './hostile-fields.ts';
import type { SeededRandom } from './seeded-random.ts';

const METHODS = ['GET', 'POST', 'HEAD', 'CONNECT', 'OPTIONS', 'get', '', 'G T', 'X'.repeat(200)];
const PATHS = ['/', '*', '', 'x', '/\0', '/a%2fb', '/#', '//', `/${'p'.repeat(9_000)}`, 'https://other.test/'];
const STATUSES = [
  '100',
  '101',
  '102',
  '103',
  '199',
  '204',
  '205',
  '206',
  '304',
  '401',
  '421',
  '500',
  '599',
  '600',
  '999',
  '99',
  '1000',
  'abc',
  '',
  '-1',
  '2 0',
];
const CODES = [0, 1, 2, 5, 7, 8, 11, 13, 99, 0xffffffff];

/** Frames of a request, each of which may be the last one sent. */
export function http2Request(
  random: SeededRandom,
  host: string,
  stream: number,
  isHostile: boolean,
): readonly Buffer[] {
  const hasBody = random.chance(0.5);
  const pseudo: readonly Field[] = [
    [':method', hasBody ? 'PUT' : random.pick(['GET', 'HEAD', 'GET'])],
    [':scheme', 'https'],
    [':path', '/'],
    [':authority', host],
  ];
  const shown = isHostile && random.chance(0.3) ? oddPseudo(random, pseudo) : pseudo;
  const fields = [...shown, ...(isHostile ? hostileFields(random) : honestFields(random))];
  if (isHostile && random.chance(0.1)) fields.push(['content-length', random.pick(['0', '5', '100', '-1', 'x'])]);
  return message(random, stream, fields, hasBody, isHostile);
}

export function http2Answer(random: SeededRandom, stream: number, isHostile: boolean): readonly Buffer[] {
  const parts: Buffer[] = [];
  const early = isHostile && random.chance(0.3) ? random.pick([1, 2, 25]) : 0;
  for (let at = 0; at < early; at += 1) {
    const fields: Field[] = [[':status', random.pick(['100', '102', '103', '103', '101', '150'])]];
    parts.push(
      ...headers(random, stream, [...fields, ...(random.chance(0.5) ? hostileFields(random) : [])], 0, isHostile),
    );
  }
  const status = !isHostile || random.chance(0.5) ? '200' : random.pick(STATUSES);
  const fields: Field[] = [[':status', status], ...(isHostile ? hostileFields(random) : honestFields(random))];
  if (isHostile && random.chance(0.1)) fields.push(['content-length', random.pick(['0', '5', '100', '-1', 'x'])]);
  if (isHostile && random.chance(0.05)) fields.shift();
  return [...parts, ...message(random, stream, fields, random.chance(0.7), isHostile)];
}

function message(
  random: SeededRandom,
  stream: number,
  fields: readonly Field[],
  hasBody: boolean,
  isHostile: boolean,
): readonly Buffer[] {
  const parts: Buffer[] = [...headers(random, stream, fields, hasBody ? 0 : FLAG.endStream, isHostile)];
  if (hasBody) {
    const count = random.int(3);
    const hasTrailers = random.chance(isHostile ? 0.3 : 0.1);
    for (let at = 0; at < count; at += 1) parts.push(data(random, stream, 0, isHostile));
    if (hasTrailers)
      parts.push(
        ...headers(random, stream, isHostile ? hostileFields(random) : [['x-sum', '1']], FLAG.endStream, isHostile),
      );
    else parts.push(data(random, stream, FLAG.endStream, isHostile));
  }
  if (!isHostile) return parts;
  const extra = random.chance(0.4) ? 1 + random.int(3) : 0;
  for (let at = 0; at < extra; at += 1) parts.splice(random.int(parts.length + 1), 0, oddFrame(random, stream));
  return parts;
}

/** One frame, or several with CONTINUATION. */
function headers(
  random: SeededRandom,
  stream: number,
  fields: readonly Field[],
  flags: number,
  isHostile: boolean,
): readonly Buffer[] {
  const block = headerBlock(
    fields.map(([name, value]) => [isHostile && random.chance(0.05) ? name : name.toLowerCase(), value] as const),
  );
  const isSplit = block.length > 16_384 || (isHostile && random.chance(0.1));
  if (!isSplit) return [frame(FRAME.headers, flags | FLAG.endHeaders, stream, block)];
  const size = block.length > 16_384 ? 16_384 : Math.max(1, Math.ceil(block.length / 3));
  const parts: Buffer[] = [];
  for (let at = 0; at < block.length; at += size) {
    const isLast = at + size >= block.length && !(isHostile && random.chance(0.1));
    const type = at === 0 ? FRAME.headers : FRAME.continuation;
    parts.push(
      frame(type, (at === 0 ? flags : 0) | (isLast ? FLAG.endHeaders : 0), stream, block.subarray(at, at + size)),
    );
  }
  return parts;
}

function data(random: SeededRandom, stream: number, flags: number, isHostile: boolean): Buffer {
  const bytes = Buffer.alloc(random.pick([0, 1, 10, 3_000, 16_384]), 'd');
  if (!isHostile || random.chance(0.8)) return frame(FRAME.data, flags, stream, bytes);
  const padding = random.pick([0, 5, 255]);
  return frame(FRAME.data, flags | FLAG.padded, stream, Buffer.concat([Buffer.from([padding]), bytes.subarray(0, 10)]));
}

function oddPseudo(random: SeededRandom, pseudo: readonly Field[]): readonly Field[] {
  const fields = [...pseudo];
  const at = random.int(fields.length);
  const [name] = fields[at] as Field;
  switch (random.int(6)) {
    case 0:
      fields.splice(at, 1);
      break;
    case 1:
      fields.push(fields[at] as Field);
      break;
    case 2:
      fields.unshift(['x-early', '1']);
      break;
    case 3:
      fields.push([
        random.pick([':protocol', ':status', ':unknown']),
        random.pick(['websocket', 'connect-udp', '200', '']),
      ]);
      break;
    case 4:
      fields[at] = [
        name,
        random.pick(
          name === ':method' ? METHODS : name === ':path' ? PATHS : ['', 'x', 'http', 'other.test', 'a\0b', 'é'],
        ),
      ];
      break;
    default:
      fields.splice(0, fields.length, [':method', 'CONNECT'], [':authority', 'x:1']);
  }
  return fields;
}

/** Frames that are allowed at any moment, and some that are not. */
function oddFrame(random: SeededRandom, stream: number): Buffer {
  const other = random.pick([stream, stream, 0, stream + 2, stream + 1, 1, 0x7fffffff]);
  const junk = Buffer.alloc(random.pick([0, 1, 4, 5, 6, 8, 40]), random.int(256));
  switch (random.int(13)) {
    case 0:
    case 1:
      return resetFrame(stream, random.pick(CODES));
    case 2:
      return resetFrame(other, random.pick(CODES));
    case 3:
      return goawayFrame(random.pick([0, stream, 0x7fffffff]), random.pick(CODES));
    case 4:
      return frame(FRAME.window, 0, other, uint32(random.pick([0, 1, 65_535, 0x7fffffff, 0xffffffff])));
    case 5:
      return frame(FRAME.settings, random.pick([0, 0, 1]), random.pick([0, 0, stream]), settings(random));
    case 6:
      return frame(
        FRAME.ping,
        random.pick([0, 1]),
        random.pick([0, 0, stream]),
        junk.length === 8 ? junk : Buffer.alloc(random.pick([8, 8, 7])),
      );
    case 7:
      return frame(FRAME.continuation, random.pick([0, FLAG.endHeaders]), other, junk);
    case 8:
      return frame(FRAME.priority, 0, other, Buffer.alloc(random.pick([5, 5, 4]), random.int(256)));
    case 9:
      return frame(FRAME.push, FLAG.endHeaders, other, Buffer.concat([uint32(2), headerBlock([[':method', 'GET']])]));
    case 10:
      return frame(random.pick([0xa, 0xc, 0x10, 0xfa]), random.int(256), other, junk);
    case 11:
      return frame(FRAME.data, random.pick([0, 1, 8, 9]), other, junk);
    default:
      return random.chance(0.5)
        ? frame(FRAME.headers, random.int(64), other, junk)
        : frame(FRAME.data, 0, stream, Buffer.alloc(20_000));
  }
}

function settings(random: SeededRandom): Buffer {
  const one = (): Buffer =>
    Buffer.concat([
      Buffer.from([0, random.pick([1, 2, 3, 4, 5, 6, 8, 99])]),
      uint32(random.pick([0, 1, 100, 16_384, 65_535, 0x7fffffff, 0xffffffff])),
    ]);
  return random.chance(0.1) ? Buffer.alloc(5) : Buffer.concat(random.list(random.int(4), one));
}

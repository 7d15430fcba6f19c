import { http1Request } from '../fuzz/support/http1-messages.ts';
import type { SeededRandom } from '../fuzz/support/seeded-random.ts';

export const HOST = 'a.test';
/** Bytes that parsers have read differently. */
const BYTES = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  '\0',
  '\x0b',
  '\x0c',
  '\x7f',
  '\x80',
  '\xff',
  ':',
  ';',
  ',',
  '0',
  '1',
  'a',
];
const LINES = [
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: 5 ',
  'Content-Length: 5, 5',
  'Content-Length: +5',
  'Content-Length : 5',
  'Content-Length:',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: Chunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: chunked\t',
  'Transfer-Encoding: \x0bchunked',
  'Transfer-Encoding : chunked',
  'Transfer_Encoding: chunked',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: upgrade',
  'Connection: keep-alive, Upgrade',
  'Connection: content-length',
  'Upgrade: websocket',
  'Upgrade: h2c',
  'Upgrade:',
  'Expect: 100-continue',
  'Expect: other',
  'Host: b.test',
  ' folded',
  '\tfolded',
  'Trailer: x',
  'Proxy-Connection: close',
];
const CHUNKS = [
  '5\r\nhello\r\n',
  '05\r\nhello\r\n',
  '5 \r\nhello\r\n',
  '5;a=b\r\nhello\r\n',
  '5;a="b;c"\r\nhello\r\n',
  '5; a=b\r\nhello\r\n',
  '5;\r\nhello\r\n',
  '5\nhello\r\n',
  '5\r\nhello\n',
  '5\r\nhelloxx',
  '0x5\r\nhello\r\n',
  '00000000000000005\r\nhello\r\n',
  'A\r\n0123456789\r\n',
  '0\r\n\r\n',
  '0\r\nX-Trailer: 1\r\n\r\n',
  '0\r\nContent-Length: 3\r\n\r\n',
  '0\r\nbad line\r\n\r\n',
  '0\r\n\n',
];

/** Bytes of one or more requests, in pieces, with an ordinary request behind them. */
export function hostileBytes(random: SeededRandom): readonly Buffer[] {
  const texts = random.list(1 + random.int(3), () => requestText(random));
  let text = texts.join('');
  const changes = random.chance(0.5) ? random.int(4) : 0;
  for (let at = 0; at < changes; at += 1) text = changed(random, text);
  return pieces(random, `${text}GET /behind HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
}

function requestText(random: SeededRandom): string {
  if (random.chance(0.4)) return Buffer.concat(http1Request(random, HOST, random.chance(0.8))).toString('latin1');
  const isChunked = random.chance(0.5);
  const lines = [`Host: ${HOST}`, ...(isChunked ? ['Transfer-Encoding: chunked'] : [])];
  for (const line of random.list(random.int(3), () => random.pick(LINES)))
    lines.splice(random.int(lines.length + 1), 0, line);
  const body = isChunked
    ? `${random.list(random.int(3), () => random.pick(CHUNKS)).join('')}${random.chance(0.8) ? '0\r\n\r\n' : ''}`
    : random.pick(['', '', 'hello', '\r\n', '5\r\nhello\r\n0\r\n\r\n']);
  const method = random.pick(['GET', 'POST', 'PUT', 'HEAD', 'OPTIONS', 'DELETE']);
  const version = random.chance(0.1) ? 'HTTP/1.0' : 'HTTP/1.1';
  return `${random.chance(0.05) ? '\r\n' : ''}${method} /x ${version}\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

function changed(random: SeededRandom, text: string): string {
  const at = random.int(text.length + 1);
  const end = at + random.int(3);
  const kind = random.int(4);
  if (kind === 0) return text.slice(0, at) + random.pick(BYTES) + text.slice(at);
  if (kind === 1) return text.slice(0, at) + text.slice(end);
  if (kind === 2) return text.slice(0, at) + random.pick(BYTES) + text.slice(end);
  return text.slice(0, end) + text.slice(at);
}

function pieces(random: SeededRandom, text: string): readonly Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  const kind = random.int(3);
  if (kind === 0) return [bytes];
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = kind === 1 || bytes.length > 2000 ? 1 + random.int(bytes.length) : 1 + random.int(8);
    found.push(bytes.subarray(at, at + size));
    at += size;
  }
  return found;
}

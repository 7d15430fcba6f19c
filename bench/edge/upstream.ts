import { createHash } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * The upstream of the benchmark: serves GETs over HTTP/1.1 with prebuilt responses, as cheaply as Node can, so that it
 * is never what is measured. `/json` is 10 KB of JSON, `/json-1k` just enough of it to be compressed, everything else 1
 * KB of text. A WebSocket's bytes are echoed.
 */
const TEXT = answer('text/plain', 'x'.repeat(1024));
const ROWS = Array.from({ length: 160 }, (_, id) => ({
  id,
  name: `user ${id * 7919}`,
  email: `u${id * 31}@example.com`,
  active: id % 3 === 0,
}));
const JSON_10_KB = answer('application/json', JSON.stringify(ROWS).slice(0, 10_240));
const JSON_1_KB = answer('application/json', JSON.stringify(ROWS).slice(0, 1100));

const server = createServer({ noDelay: true }, (socket) => {
  let rest = '';
  let isSwitched = false;
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    if (isSwitched) {
      socket.write(bytes);
      return;
    }
    const text = rest + bytes.toString('latin1');
    const key = /^sec-websocket-key: *(\S+)/im.exec(text)?.[1];
    if (key !== undefined) {
      isSwitched = true;
      socket.write(switched(key));
      return;
    }
    let at = 0;
    for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n', at)) {
      socket.write(answerTo(text, at));
      at = end + 4;
    }
    rest = at === text.length ? '' : text.slice(at);
  });
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ addresses: { api: `127.0.0.1:${port}` }, msg: 'ready' })}\n`);
});
process.once('SIGTERM', () => process.exit());

function switched(key: string): string {
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  return `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`;
}

function answerTo(text: string, at: number): Buffer {
  if (!text.startsWith('GET /json', at)) return TEXT;
  return text.startsWith('-1k', at + 'GET /json'.length) ? JSON_1_KB : JSON_10_KB;
}

function answer(type: string, body: string): Buffer {
  const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nServer: upstream\r\nDate: Sun, 15 Nov 2026 00:00:00 GMT\r\n\r\n`;
  return Buffer.from(head + body);
}

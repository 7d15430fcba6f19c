import { createServer, type Socket } from 'node:net';

/**
 * The receiver of the benchmark, in its own process: responds to every POST with 204, as cheaply as Node can, and
 * records it. `GET /arrivals` returns and clears how many deliveries came, and when each first came by the id of its
 * object, in milliseconds of the clock that all processes of a machine share.
 */
const TAKEN = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');

export interface Arrivals {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly byObject: Readonly<Record<string, number>>;
}

let count = 0;
let firstMs = 0;
let lastMs = 0;
let byObject: Record<string, number> = {};

const server = createServer({ noDelay: true }, (socket) => {
  let rest = '';
  socket.on('error', () => {});
  socket.on('data', (bytes) => {
    rest += bytes.toString('latin1');
    for (;;) {
      const end = rest.indexOf('\r\n\r\n');
      if (end === -1) return;
      const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, end))?.[1] ?? 0);
      if (rest.length < end + 4 + length) return;
      const request = rest.slice(0, end + 4 + length);
      rest = rest.slice(end + 4 + length);
      take(socket, request);
    }
  });
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`${JSON.stringify({ addresses: { api: `127.0.0.1:${port}` }, msg: 'ready' })}\n`);
});
process.once('SIGTERM', () => process.exit());

function take(socket: Socket, request: string): void {
  if (request.startsWith('GET /count')) {
    answer(socket, { count, firstMs, lastMs, byObject: {} });
    return;
  }
  if (request.startsWith('GET /arrivals')) {
    answer(socket, { count, firstMs, lastMs, byObject });
    count = 0;
    byObject = {};
    return;
  }
  socket.write(TAKEN);
  lastMs = Number(process.hrtime.bigint()) / 1e6;
  if (count === 0) firstMs = lastMs;
  count += 1;
  const id = /"object":\{.*?"id":"([^"]+)"/.exec(request)?.[1];
  if (id !== undefined) byObject[id] ??= lastMs;
}

function answer(socket: Socket, arrivals: Arrivals): void {
  const body = JSON.stringify(arrivals);
  socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
}

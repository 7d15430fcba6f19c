import { readFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer as createTls } from 'node:tls';
import { blocks } from './blocks.ts';

/**
 * The service behind the tunnel: GET /n returns n bytes, POST counts received bytes. The same over a plain TLS
 * connection: the first line is `GET n` or `POST n`. It reports how many it received.
 */
const http = createHttp((request, response) => {
  if (request.method === 'GET') {
    const total = Number(request.url?.slice(1));
    response.setHeader('content-length', total);
    blocks(total).pipe(response);
    return;
  }
  let count = 0;
  request.on('data', (chunk: Buffer) => {
    count += chunk.length;
  });
  request.on('end', () => response.end(String(count)));
});
http.requestTimeout = 0;

const credentials = {
  cert: readFileSync(process.env['BENCH_CERTIFICATE'] ?? ''),
  key: readFileSync(process.env['BENCH_KEY'] ?? ''),
};
const tls = createTls(credentials, (socket) => {
  socket.on('error', () => {});
  socket.setNoDelay(true);
  let command = '';
  let left = -1;
  const take = (bytes: number): void => {
    left -= bytes;
    if (left === 0) socket.end('done');
  };
  socket.on('data', (chunk: Buffer) => {
    if (left >= 0) {
      take(chunk.length);
      return;
    }
    const at = chunk.indexOf('\n');
    command += chunk.toString('latin1', 0, at === -1 ? chunk.length : at);
    if (at === -1) return;
    const [method, total] = command.split(' ');
    if (method === 'GET') blocks(Number(total)).pipe(socket);
    else {
      left = Number(total);
      take(chunk.length - at - 1);
    }
  });
});

http.listen(0, '127.0.0.1', () => {
  tls.listen(0, '127.0.0.1', () => {
    const [api, edge] = [http, tls].map((server) => `127.0.0.1:${(server.address() as { port: number }).port}`);
    process.stdout.write(`${JSON.stringify({ addresses: { edge, api }, msg: 'ready' })}\n`);
  });
});
process.once('SIGTERM', () => process.exit());

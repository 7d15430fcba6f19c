import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { Cleanup } from '../../support/cleanup.ts';

const block = Buffer.alloc(64 * 1024, 'postern');

/** This many bytes, generated as they are read, or fewer if they are enough. */
export function blocks(total: number, isEnough = () => false): Readable {
  let left = total / block.length;
  return new Readable({
    read() {
      left -= 1;
      this.push(left < 0 || isEnough() ? null : block);
    },
  });
}

export function expectedHash(total: number): string {
  const hash = createHash('sha1');
  for (let left = total / block.length; left > 0; left -= 1) hash.update(block);
  return hash.digest('hex');
}

export async function hashOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha1');
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest('hex');
}

/** GET /n: n bytes. POST: the hash of the body. */
export async function blockService(test: Cleanup): Promise<string> {
  const server = createServer((request, response) => {
    response.on('error', () => {});
    if (request.method === 'GET') blocks(Number(request.url?.slice(1))).pipe(response);
    else
      void hashOf(request).then(
        (hash) => response.end(hash),
        () => {},
      );
  });
  server.requestTimeout = 0;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(() => {
    server.closeAllConnections();
    server.close();
    return Promise.resolve();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Cleanup } from '../../support/cleanup.ts';

/** A server that publishes a list, well or badly. */
export interface CrlServer {
  readonly url: string;
  readonly requests: IncomingMessage[];
  /** Body of the response, with an ETag of its own. */
  list: Buffer | string;
  etag: string | null;
  /** Replaces the response. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | null;
  /** Nothing listens until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function openCrlServer(test: Cleanup): Promise<CrlServer> {
  const http = createServer((request, response) => {
    response.on('error', () => {});
    server.requests.push(request);
    if (server.answer !== null) {
      server.answer(request, response);
      return;
    }
    const isKnown = server.etag !== null && request.headers['if-none-match'] === server.etag;
    const etag = server.etag === null ? {} : { etag: server.etag };
    response.writeHead(isKnown ? 304 : 200, { 'content-type': 'application/pkix-crl', ...etag });
    response.end(isKnown ? undefined : server.list);
  });
  let port = 0;
  const start = async (): Promise<void> => {
    await once(http.listen(port, '127.0.0.1'), 'listening');
    port = (http.address() as AddressInfo).port;
  };
  const stop = async (): Promise<void> => {
    http.closeAllConnections();
    if (http.listening) await new Promise((resolve) => http.close(resolve));
  };
  test.after(stop);
  await start();
  const server: CrlServer = {
    url: `http://127.0.0.1:${port}/list.crl`,
    requests: [],
    list: '',
    etag: null,
    answer: null,
    start,
    stop,
  };
  return server;
}

/** Waits for something that happens soon. */
export async function eventually<Value>(look: () => Promise<Value>, isSo: (value: Value) => boolean): Promise<Value> {
  const endMs = Date.now() + 30_000;
  for (;;) {
    const value = await look();
    if (isSo(value)) return value;
    if (Date.now() > endMs) throw new Error(`not in time: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

import { existsSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Cleanup } from '../../support/cleanup.ts';

export interface ReleaseServer {
  readonly url: string;
  readonly requests: string[];
}

export interface ServerOptions {
  readonly address?: string;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Answers some paths in another way. Returns whether it did. */
  readonly instead?: (path: string, response: ServerResponse) => boolean;
}

/** Serves a folder as a web server would. */
export async function serveRelease(test: Cleanup, folder: string, options: ServerOptions = {}): Promise<ReleaseServer> {
  const { address = '127.0.0.1', tls, instead = () => false } = options;
  const requests: string[] = [];
  const answer: RequestListener = (request, response) => {
    const path = request.url ?? '/';
    requests.push(path);
    if (instead(path, response)) return;
    const file = join(folder, path);
    if (!existsSync(file)) {
      response.writeHead(404).end('not here\n');
      return;
    }
    response.end(readFileSync(file));
  };
  const server = tls === undefined ? createHttpServer(answer) : createHttpsServer(tls, answer);
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  test.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `${tls === undefined ? 'http' : 'https'}://${address}:${port}`, requests };
}

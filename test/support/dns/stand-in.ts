import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Cleanup } from '../cleanup.ts';

export interface StandInRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface StandInAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface StandIn {
  readonly url: string;
  readonly requests: StandInRequest[];
  /** Answers that come first, one each. */
  readonly first: (StandInAnswer | null)[];
}

/** An HTTP API on this machine, made from the published description of a DNS provider. */
export async function startStandIn(
  test: Cleanup,
  answer: (request: StandInRequest) => StandInAnswer,
): Promise<StandIn> {
  const requests: StandInRequest[] = [];
  const first: (StandInAnswer | null)[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'http://stand-in');
      const received = { method: request.method ?? '', url, headers: request.headers, body };
      requests.push(received);
      const { status, body: json, headers } = first.shift() ?? answer(received);
      response.writeHead(status, headers);
      response.end(json === undefined ? undefined : typeof json === 'string' ? json : JSON.stringify(json));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, first };
}

import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface LoopbackFetchOptions {
  /** Certificates to trust. Without any, none is checked: only this machine can respond. */
  readonly ca?: readonly string[];
  /** Port to connect to, whatever port the address has: tests open edges on any port. */
  readonly port?: () => number;
}

/**
 * A fetch that reaches only 127.0.0.1, for any host name: Node does not resolve "app.localhost", and the provider's own
 * fetch rejects loopback. It supports only what back-channel logout needs.
 */
export function loopbackFetch(options: LoopbackFetchOptions = {}): typeof fetch {
  return async (input, init = {}) => {
    // Through Request, so that bodies and headers of all kinds become bytes and their content type.
    const { signal } = init;
    const asked = new Request(input, { method: init.method, headers: init.headers, body: init.body } as RequestInit);
    const body = Buffer.from(await asked.arrayBuffer());
    const url = new URL(asked.url);
    const isTls = url.protocol === 'https:';
    const sent: RequestOptions = {
      host: '127.0.0.1',
      port: options.port?.() ?? (url.port || (isTls ? 443 : 80)),
      path: url.pathname + url.search,
      method: asked.method,
      headers: { ...Object.fromEntries(asked.headers), host: url.host, 'content-length': body.length },
      agent: false,
      ...(signal && { signal }),
    };
    const trust = options.ca === undefined ? { rejectUnauthorized: false } : { ca: [...options.ca] };
    return new Promise<Response>((resolve, reject) => {
      const onAnswer = (answer: IncomingMessage): void => {
        gather(answer).then(resolve, reject);
      };
      const request = isTls
        ? requestHttps({ ...sent, ...trust, servername: url.hostname }, onAnswer)
        : requestHttp(sent, onAnswer);
      request.on('error', reject);
      request.end(body);
    });
  };
}

async function gather(answer: IncomingMessage): Promise<Response> {
  const body = Buffer.concat(await answer.toArray());
  const status = answer.statusCode ?? 0;
  const hasBody = ![204, 205, 304].includes(status);
  return new Response(hasBody ? body : null, { status, headers: { ...withoutLists(answer) } });
}

function withoutLists({ headers }: IncomingMessage): Record<string, string> {
  const single = Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(single);
}

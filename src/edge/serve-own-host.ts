import type { WholeAnswer } from '../lib/http/whole-request.ts';
import type { OwnHost } from '../snapshot/edge-snapshot.ts';
import type { Exchange } from './exchange/exchange.ts';
import { refusedAsOpen } from './exchange/not-switched.ts';

/** Forms and tokens are far smaller. */
const MAX_BODY_BYTES = 65_536;
const TOO_LARGE = 'The body of the request is larger than 64 KB, which is more than this site accepts.';

/** Hands a request over whole. Its headers contain nothing that proxies report about the visitor: see `SPECIAL`. */
export function serveOwnHost(host: OwnHost, exchange: Exchange): void {
  if (refusedAsOpen(exchange, 200)) return;
  answered(host, exchange).catch((error: unknown) => exchange.bug(error));
}

async function answered(host: OwnHost, exchange: Exchange): Promise<void> {
  const { id, method, path, target, clientAddress, client } = exchange;
  const body = await exchange.readBody(MAX_BODY_BYTES);
  if (exchange.isDone) return;
  if (body === null) {
    exchange.refuse('ERR_POSTERN_EDGE_BODY_TOO_LARGE', 'body_too_large', TOO_LARGE);
    return;
  }
  const { headers } = client.head;
  const answer = await host.serve({ id, method, path, target, headers, body, clientAddress });
  if (!exchange.isDone) send(exchange, answer);
}

function send(exchange: Exchange, { status, headers, body }: WholeAnswer): void {
  exchange.answer(status, [...headers, 'postern-request-id', exchange.id], Buffer.from(body as string));
}

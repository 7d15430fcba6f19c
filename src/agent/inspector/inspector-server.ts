import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { closing, ignoreErrors, type ListenerOwner } from '../../lib/guarded-listeners.ts';
import { createServer } from '../../lib/http/node-http.ts';
import { serveInTurn } from '../../lib/http/serve-in-turn.ts';
import { type InspectorApi, methodRefused, sendJson } from './inspector-api.ts';
import { loadInspectorPage } from './inspector-page.ts';
import { InspectorRefusal } from './inspector-refusal.ts';
import type { RequestGuard } from './request-guard.ts';

const MAX_CONNECTIONS = 128;
/** Anything but the page can do nothing if a browser is made to display it. */
const CLOSED_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox";

/** Serves nothing yet: the allowed hosts depend on the port that it gets. */
export function createInspectorServer(): Server {
  const server = createServer({
    maxHeaderSize: 32_768,
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 10_000,
  });
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

/** Checks every request, then serves the page or the API. */
export function serveInspector(server: Server, guard: RequestGuard, api: InspectorApi): void {
  const page = loadInspectorPage(guard.token);
  const serve = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    guard.checkHost(message);
    const [path = '', query = ''] = splitOnce(message.url ?? '');
    if (!path.startsWith('/')) throw new InspectorRefusal(400, 'bad_request', 'the target must be a path');
    if (path === '/') {
      if (message.method !== 'GET') throw methodRefused(['GET']);
      response.setHeader('content-security-policy', page.policy);
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end(page.html);
      return;
    }
    const isWrite = message.method !== 'GET';
    guard.checkSite(message, isWrite);
    if (isWrite) guard.checkWrite(message);
    await api.handle({ path, query: new URLSearchParams(query), message, response });
  };
  const ownerOf = ({ socket }: IncomingMessage): ListenerOwner => closing(socket, 'inspector');
  serveInTurn(server, ownerOf, (message, response) => {
    setSafeHeaders(response);
    ignoreErrors(response);
    serve(message, response).catch((error: unknown) => refuse(message, response, error));
  });
}

function setSafeHeaders(response: ServerResponse): void {
  response.setHeader('cache-control', 'no-store');
  response.setHeader('content-security-policy', CLOSED_POLICY);
  response.setHeader('cross-origin-opener-policy', 'same-origin');
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  response.setHeader('referrer-policy', 'no-referrer');
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('x-frame-options', 'DENY');
}

function refuse(message: IncomingMessage, response: ServerResponse, error: unknown): void {
  // The client disconnected during its request or during the response.
  if (message.destroyed && !message.complete) {
    response.destroy();
    return;
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (error instanceof InspectorRefusal) {
    sendJson(response, error.status, { error: error.error, message: error.message }, error.headers);
    return;
  }
  sendJson(response, 500, { error: 'internal', message: `internal error of the inspector: ${String(error)}` });
}

function splitOnce(target: string): readonly string[] {
  const at = target.indexOf('?');
  return at === -1 ? [target] : [target.slice(0, at), target.slice(at + 1)];
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { failureCode, messageOf } from '../../../kit/error-text.ts';
import { closing, ignoreErrors, type ListenerOwner } from '../../../kit/guarded-listeners.ts';
import { serveInTurn } from '../../../kit/http/http1-pipeline.ts';
import { createServer } from '../../../kit/http/node-http.ts';
import { sourceHash } from '../../../kit/http/plain-page.ts';
import { formatListenAddress, type ListenAddress } from '../../../kit/net/listen-address.ts';
import { readProgramFile } from '../../../kit/program-files.ts';
import { AgentError } from '../errors.ts';
import { type InspectorApi, methodRefused, sendJson } from './inspector-api.ts';
import { InspectorRefusal, type RequestGuard } from './request-guard.ts';

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

/** Concatenated in this order into one script: each part needs only those before it. */
const SCRIPTS = ['element', 'format', 'server', 'body-view', 'detail', 'editor', 'request-list', 'main'];

interface InspectorPage {
  readonly html: string;
  readonly policy: string;
}

/** The self-contained page, and the content security policy that confines it. */
function loadInspectorPage(token: string): InspectorPage {
  const style = read('page.css');
  const script = `\n${SCRIPTS.map((name) => asPart(read(`${name}.js`))).join('\n')}`;
  const html = [
    ['<link rel="stylesheet" href="page.css">', `<style>${style}</style>`],
    ['<script type="module" src="main.js"></script>', `<script type="module">${script}</script>`],
    ['content=""', `content="${token}"`],
  ].reduce((text, [from, to]) => replacedOnce(text, from as string, to as string), read('page.html'));
  const policy = [
    "default-src 'none'",
    `script-src ${sourceHash(script)}`,
    `style-src ${sourceHash(style)}`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // Text from the network cannot become HTML: the browser itself rejects innerHTML and similar sinks.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return { html, policy };
}

function read(name: string): string {
  return readProgramFile(`tunnel/agent/inspector/page/${name}`);
}

/** The files are modules for linters and readers. In the page they share one scope. */
function asPart(source: string): string {
  return source.replaceAll(/^import [^;]*;\n/gm, '').replaceAll(/^export /gm, '');
}

function replacedOnce(text: string, from: string, to: string): string {
  const pieces = text.split(from);
  assert(pieces.length === 2, `page.html must have ${from} once`);
  return pieces.join(to);
}

const MORE_PORTS = 10;

/** Binds the first free port, starting at the requested one. Throws `AgentError`. */
export async function listenNear(server: Server, { host, port }: ListenAddress): Promise<ListenAddress> {
  for (let tried = port; ; tried += 1) {
    try {
      server.listen({ host, port: tried, exclusive: true });
      await once(server, 'listening');
      return { host, port: (server.address() as AddressInfo).port };
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (isTaken && tried < port + MORE_PORTS && tried < 65_535) continue;
      const range = tried === port ? '' : ` and the ${tried - port} ports after it`;
      const message = `the inspector cannot listen on ${formatListenAddress({ host, port })}${range}: ${whyNotListening(error, host)}`;
      throw new AgentError('ERR_POSTERN_AGENT_INSPECTOR', message, { cause: error });
    }
  }
}

function whyNotListening(error: unknown, host: string): string {
  const code = failureCode(error);
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'the port is in use. Choose another one with --inspect-addr',
    EADDRNOTAVAIL: `the address ${host} does not belong to this machine. Choose another one with --inspect-addr`,
    EACCES: 'this user has no permission to open the port. Choose one above 1023 with --inspect-addr',
    ENOTFOUND: `the name ${host} does not resolve. Choose an address with --inspect-addr`,
  };
  return reasons[code] ?? messageOf(error);
}

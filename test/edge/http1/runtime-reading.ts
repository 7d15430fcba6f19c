import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { readHead } from '../../../src/proxy/edge/http/request-head.ts';
import { type AcceptedRequest, forwardable, LIMITS, type Reading, RULES, send } from './reading.ts';

/** What the runtime's server (llhttp) makes of the bytes, with the refusals that the edge added when it used that. */
export async function runtimeReading(pieces: readonly Buffer[]): Promise<Reading> {
  const reading: Reading = { accepted: [], isRefused: false };
  const server = createServer({
    maxHeaderSize: LIMITS.maxHeaderBytes,
    requireHostHeader: false,
    headersTimeout: 0,
    requestTimeout: 0,
    shouldUpgradeCallback: (request: IncomingMessage) => isWebSocket(request),
  } as object);
  server.maxHeadersCount = LIMITS.maxHeaderCount + 1;
  let current: { readonly accepted: AcceptedRequest; readonly request: IncomingMessage } | null = null;
  const take = (request: IncomingMessage, isSwitch: boolean): AcceptedRequest | null => {
    if (reading.isRefused) return null;
    const head = headOf(request, isSwitch);
    if (head === null) {
      reading.isRefused = true;
      return null;
    }
    const accepted: AcceptedRequest = { head, body: '', trailers: [], state: isSwitch ? 'switched' : 'open' };
    current = { accepted, request };
    reading.accepted.push(accepted);
    return accepted;
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const accepted = take(request, false);
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => {
      if (accepted !== null) accepted.body += chunk.toString('latin1');
    });
    request.on('end', () => {
      if (accepted === null || !request.complete) return;
      accepted.state = 'whole';
      accepted.trailers = forwardable(request.rawTrailers, request.method ?? '');
      response.end();
    });
  };
  server.on('request', serve).on('checkContinue', serve).on('checkExpectation', serve);
  const hand = (request: IncomingMessage, socket: Duplex): void => {
    if (take(request, true) === null) socket.destroy();
  };
  server.on('upgrade', hand).on('connect', hand);
  server.on('clientError', (_error: Error, socket: Duplex) => {
    if (current?.accepted.state === 'switched') socket.destroy();
    else reading.isRefused = true;
    if (current?.request.complete === false) current.accepted.state = 'broken';
  });
  await send(pieces, (socket) => server.emit('connection', socket));
  return reading;
}

/** RFC 9110 §7.8: HTTP/1.0 has no Upgrade; the runtime hands over such a connection too. */
function isWebSocket({ headers, method, httpVersion }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && method === 'GET' && httpVersion === '1.1';
}

function headOf(request: IncomingMessage, hasUpgrade: boolean): AcceptedRequest['head'] | null {
  const { rawHeaders, httpVersion, headers, method = '', url: target = '' } = request;
  if (rawHeaders.length > 2 * LIMITS.maxHeaderCount) return null;
  if (httpVersion !== '1.1' && (httpVersion !== '1.0' || headers['transfer-encoding'] !== undefined)) return null;
  const raw = { method, target, rawHeaders, hasUpgrade, httpVersion: 1, absoluteScheme: 'https' } as const;
  const reading = readHead({ ...raw, authority: null, protocol: null, isFromProxy: false }, RULES);
  return reading.ok ? reading.head : null;
}

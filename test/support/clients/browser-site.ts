import type { ServerResponse } from 'node:http';
import { WebSocketServer } from 'ws';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';

const FILES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  '/': [
    'text/html',
    // Long enough to benefit from compression, in any number of pieces.
    `<!doctype html><title>page</title><link rel="stylesheet" href="/a.css"><script src="/a.js"></script>${'<!-- padding -->'.repeat(100)}`,
  ],
  '/a.css': ['text/css', `body { background: rgb(1, 2, 3) } ${'/* padding */'.repeat(200)}`],
  '/a.js': ['text/javascript', 'globalThis.loaded = true;'],
};
const LAST_EVENT = 5;

/**
 * Turns an upstream into the site of the browser suite: a page and its files, echoes of bodies (as they arrive, or when
 * complete) and of WebSockets, and events that are each sent when the page confirms the one before.
 */
export function serveBrowserSite(upstream: RecordingUpstream): void {
  const webSockets = new WebSocketServer({ noServer: true });
  upstream.onUpgrade = (request, socket, head) => {
    webSockets.handleUpgrade(request, socket, head, (end) => {
      end.on('message', (data, isBinary) => end.send(data, { binary: isBinary }));
    });
  };
  let onAcknowledged = (_id: number): void => {};
  upstream.answer = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://upstream');
    const file = FILES[pathname];
    if (file !== undefined) {
      response.writeHead(200, { 'content-type': file[0] });
      response.end(file[1]);
    } else if (pathname === '/events') {
      onAcknowledged = sendEvents(response);
    } else if (pathname === '/got') {
      onAcknowledged(Number(searchParams.get('id')));
      response.writeHead(204);
      response.end();
    } else if (pathname === '/echo-whole') {
      const parts: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => parts.push(chunk))
        .on('end', () => {
          response.writeHead(200, { 'content-type': request.headers['content-type'] ?? 'text/plain' });
          response.end(Buffer.concat(parts));
        });
    } else {
      response.writeHead(200, { 'content-type': request.headers['content-type'] ?? 'text/plain' });
      request.pipe(response);
    }
  };
}

/** Returns a function to call with the number of the event that the page has received. */
function sendEvents(response: ServerResponse): (id: number) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (id: number): unknown => response.write(`id: ${id}\ndata: event ${id}\n\n`);
  send(0);
  return (id) => (id < LAST_EVENT ? send(id + 1) : response.end());
}

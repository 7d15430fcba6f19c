import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ListenerOwner, listenPer } from '../guarded-listeners.ts';
import { Http1Pipeline } from './http1-pipeline.ts';

/** Serves the requests of each HTTP/1.1 connection one after the other. */
export function serveInTurn(
  server: Server,
  ownerOf: (request: IncomingMessage) => ListenerOwner,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): void {
  const count = { waiting: 0 };
  const pipelines = new WeakMap<Socket, Http1Pipeline>();
  listenPer(server, 'request', ownerOf, (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = new Http1Pipeline(socket, { owner: ownerOf(request), count });
      pipelines.set(socket, pipeline);
    }
    pipeline.serve(response, () => serve(request, response));
  });
}

import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Authenticate } from './authentication.ts';
import type { ServedPath } from './served-paths.ts';

/** Routes beside the operations: pages, login, streams. */
export interface ApiExtension {
  /** For the responses to other methods and paths. */
  readonly paths: readonly ServedPath[];
  addRoutes(app: FastifyInstance, tools: { readonly authenticate: Authenticate }): void;
  /** The URL under which a request is routed. */
  rewriteUrl?(request: IncomingMessage): string;
}

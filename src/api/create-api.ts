import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from '../lib/clock.ts';
import type { Operation, OperationPorts } from '../resources/operation.ts';
import type { ApiMetrics } from './api-metrics.ts';
import { createLogin, type FindPrincipal, type Login } from './authentication.ts';
import { addBodyParsers, ignoreContentType } from './body-parsers.ts';
import { errorBody, shownError } from './error-response.ts';
import { FailedLoginBrake } from './failed-login-brake.ts';
import { operationGate, operationHandler } from './operation-route.ts';
import { pathTable } from './path-table.ts';
import { addPublicRoutes, type PublicPages, publicRoutes } from './public-routes.ts';
import { RateLimit } from './rate-limit.ts';
import { takesBody } from './request-body.ts';
import type { RequestState } from './request-state.ts';

const MAX_BODY_BYTES = 1_048_576;

export interface ApiDependencies {
  readonly operations: readonly Operation[];
  readonly ports: OperationPorts;
  readonly findPrincipal: FindPrincipal;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gets one line per request. */
  readonly requestLogger: Logger;
  readonly metrics: ApiMetrics;
  readonly pages: PublicPages;
  /** Requests per second and API key; 0 = no limit. */
  readonly rateLimitPerSecond: number;
  /** Waits; tests need not. */
  readonly sleep?: (ms: number) => Promise<void>;
}

export interface Api {
  readonly handle: RequestListener;
  close(): Promise<void>;
}

/** The HTTP face of the management API. It is made from the list of operations and knows none of them by name. */
export async function createApi(deps: ApiDependencies): Promise<Api> {
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    routerOptions: { maxParamLength: 200, caseSensitive: true },
    // The listener is opened and drained by the composition root; Fastify only routes.
    forceCloseConnections: false,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      begin(request, deps);
      sendError(error, request, reply, deps);
    },
  });
  app.decorateRequest('postern', null as unknown as RequestState);
  app.addHook('onRequest', (request, reply, next) => {
    begin(request, deps);
    reply.header('postern-operation-id', request.postern.operationId);
    // Responses hold configuration and secrets: no cache between us and the client may keep them.
    reply.header('cache-control', 'no-store');
    next();
  });
  app.addHook('onResponse', (request, reply, next) => {
    finish(request, reply, deps);
    next();
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, deps));

  const brake = new FailedLoginBrake(deps.clock, deps.sleep ?? ((ms) => sleep(ms, undefined, { ref: false })));
  addBodyParsers(app);
  const login = createLogin(deps.findPrincipal, brake);
  addPublicRoutes(app, deps.pages, login);
  addOperations(app, deps, login);
  addNotFound(app, deps, login);
  await app.ready();
  return { handle: (request, response) => app.routing(request, response), close: () => app.close() };
}

function addOperations(app: FastifyInstance, deps: ApiDependencies, login: Login): void {
  const gate = { login, rateLimit: new RateLimit(deps.rateLimitPerSecond, deps.clock) };
  for (const operation of deps.operations) {
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{([^}]+)\}/g, ':$1'),
      config: { operation },
      onRequest: [operationGate(operation, gate), ...(takesBody(operation) ? [] : [ignoreContentType])],
      handler: operationHandler(operation, deps.ports),
    });
  }
}

function addNotFound(app: FastifyInstance, deps: ApiDependencies, login: Login): void {
  const table = pathTable([...deps.operations, ...publicRoutes]);
  app.setNotFoundHandler(async (request) => {
    // Who may not enter learns nothing about what there is.
    await login(request);
    throw table.refusal(request.method, request.url);
  });
}

function begin(request: FastifyRequest, deps: ApiDependencies): void {
  request.postern = {
    operationId: deps.ports.newId('op'),
    startedAt: performance.now(),
    apiKeyId: null,
    admission: null,
  };
}

function finish(request: FastifyRequest, reply: FastifyReply, deps: ApiDependencies): void {
  const operation = (request.routeOptions.config as { operation?: Operation }).operation;
  const name = operation === undefined ? 'none' : `${operation.resource}.${operation.verb}`;
  const seconds = (performance.now() - request.postern.startedAt) / 1000;
  deps.metrics.observe(name, reply.statusCode, seconds);
  if (operation === undefined && reply.statusCode < 400) return;
  deps.requestLogger.info(
    {
      operation_id: request.postern.operationId,
      operation: name,
      method: request.method,
      path: pathOf(request.url),
      status: reply.statusCode,
      key_id: request.postern.apiKeyId,
      ms: Math.round(seconds * 1e5) / 100,
    },
    'request',
  );
}

function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, deps: ApiDependencies): void {
  const error = shownError(thrown);
  const { operationId } = request.postern;
  if (error.status >= 500)
    deps.logger.error({ operation_id: operationId, err: thrown, code: error.code }, 'request failed');
  void reply
    .code(error.status)
    .headers({ ...error.headers, 'postern-operation-id': operationId, 'cache-control': 'no-store' })
    .type('application/json; charset=utf-8')
    .send(errorBody(error, operationId));
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

import type { OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from '../../kit/clock.ts';
import type { PosternError } from '../../kit/errors.ts';
import { createDenseIds } from '../../kit/text/ksuid.ts';
import type { Operation } from '../resources/operation.ts';
import { type AnswerRecords, recordAnswer } from './api-metrics.ts';
import {
  type Authenticate,
  type AuthenticateOptions,
  createAuthenticate,
  FailedAuthenticationDelay,
  type FindPrincipal,
  type KindOfToken,
  onceKnown,
} from './authentication.ts';
import { CrossOrigin } from './cross-origin.ts';
import { answerBeforeBody, cutOffError, errorBody, PlainRefusals, shownError } from './error-response.ts';
import {
  GzipResponses,
  operationGate,
  operationHandler,
  RateLimit,
  type RequestState,
  varyOn,
} from './operation-route.ts';
import type { OthersWrites } from './others-writes.ts';
import type { ProtocolErrorAnswers } from './protocol-errors.ts';
import { addPublicRoutes, type PublicPages, publicRoutes } from './public-routes.ts';
import { addBodyParsers, ignoreContentType, LargeBodies, largeBodyGate, takesBody } from './request-parts.ts';
import {
  type ApiExtension,
  allowedMethods,
  isRoutedMethod,
  pathOf,
  pathRefusals,
  ServedPaths,
  unroutableProblem,
  unservedRequests,
} from './served-paths.ts';

const MAX_BODY_BYTES = 1_048_576;
const WITHOUT_OTHERS = /^\/(?:healthz|metrics)(?:\?|$)/;
/** What a 503 reports is usually over soon. */
const RETRY_SOON = { 'retry-after': '5' };

export interface ApiDependencies<Ports> extends AnswerRecords {
  readonly operations: readonly Operation<Ports>[];
  /** Everything that the operations use; this server only passes it on. */
  readonly ports: Ports;
  readonly findPrincipal: FindPrincipal;
  /** See AuthenticateOptions. */
  readonly kindOfToken?: KindOfToken;
  /** False until the first API key is created: before that, an unknown key may become valid. */
  areKeysKnown(): boolean;
  /** See AuthenticateOptions. */
  readonly findSession?: AuthenticateOptions['findSession'];
  readonly others: OthersWrites;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pages: PublicPages;
  /** Requests per second per API key; 0 = no limit. */
  readonly rateLimitPerSecond: number;
  /** Origins whose pages may use the API. */
  readonly corsOrigins: readonly string[];
  /** Routes beside the operations. */
  readonly extensions?: readonly ApiExtension[];
  /** Replaced in tests. */
  readonly sleep?: (ms: number) => Promise<void>;
}

export interface Api {
  readonly handle: RequestListener;
  readonly protocolErrors: ProtocolErrorAnswers;
  close(): Promise<void>;
}

/** The HTTP server of the management API. It is built from the list of operations and knows none of them by name. */
export async function createApi<Ports>(deps: ApiDependencies<Ports>): Promise<Api> {
  const denseIds = createDenseIds('op');
  const newOperationId = (): string => denseIds(deps.clock.nowMs());
  const { extensions = [] } = deps;
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    routerOptions: { maxParamLength: 200, caseSensitive: true },
    // The composition root opens and drains the listener; Fastify only routes.
    forceCloseConnections: false,
    return503OnClosing: false,
    rewriteUrl: (request) =>
      extensions.reduce((url, extension) => extension.rewriteUrl?.(request) ?? url, request.url ?? '/'),
    // A path that cannot be decoded: no hook runs for it.
    frameworkErrors: (error, request, reply) => {
      begin(request, newOperationId);
      sendError(error, request, reply, deps);
      finish(request, reply.statusCode, deps);
    },
  });
  app.decorateRequest('postern', null as unknown as RequestState);
  app.addHook('onRequest', (request, _reply, next) => {
    begin(request, newOperationId);
    next();
  });
  // Operation routes write their own responses; this hook is for errors and public pages.
  app.addHook('onSend', (request, reply, payload, next) => {
    reply.header('postern-operation-id', request.postern.operationId);
    // The framework's own headers replace those that the response has already.
    if (reply.hasHeader('vary')) reply.header('vary', varyOn(reply.raw, String(reply.getHeader('vary'))));
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    finish(request, reply.statusCode, deps);
    next(null, payload);
  });
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, deps));

  const delay = new FailedAuthenticationDelay(deps.clock, deps.sleep ?? ((ms) => sleep(ms, undefined, { ref: false })));
  addBodyParsers(app);
  const authenticate = createAuthenticate(deps.findPrincipal, {
    delay,
    kindOf: deps.kindOfToken,
    areKeysKnown: () => deps.areKeysKnown(),
    findSession: deps.findSession,
    others: deps.others,
  });
  const gzip = new GzipResponses();
  addPublicRoutes(app, deps.pages, { authenticate, gzip });
  addOperations(app, deps, { authenticate, gzip });
  for (const extension of extensions) extension.addRoutes(app, { authenticate });
  const paths = new ServedPaths([...deps.operations, ...publicRoutes, ...extensions.flatMap((each) => each.paths)]);
  const refusePath = pathRefusals(paths);
  const refuse = unservedRequests(refusePath, authenticate);
  const allowed = allowedMethods(paths, authenticate);
  app.setNotFoundHandler((request) => refuse(request.raw));
  await app.ready();
  const refusals = new PlainRefusals({
    newOperationId,
    onRefused: (refused) =>
      recordAnswer({ ...refused, operation: undefined, apiKeyId: null, startedAt: performance.now() }, deps),
  });
  const crossOrigin = deps.corsOrigins.length === 0 ? null : new CrossOrigin(deps.corsOrigins);
  const handle: RequestListener = (request, response) => {
    const refuseFor = (error: unknown): void => refusals.answer(request, response, shownError(error));
    const { behind } = deps.others;
    // How this server is must not depend on others.
    if (behind !== null && !WITHOUT_OTHERS.test(request.url ?? ''))
      return void onceKnown(behind, () => handle(request, response)).catch(refuseFor);
    const problem = unroutableProblem(request);
    if (problem !== null) return refuseFor(problem);
    if (crossOrigin?.answer(request, response) === true) return undefined;
    if (request.method === 'OPTIONS')
      return void allowed(request).then((methods) => answerOptions(response, methods, newOperationId()), refuseFor);
    if (!isRoutedMethod(request.method)) return void refuse(request).catch(refuseFor);
    return app.routing(request, response);
  };
  return { handle, protocolErrors: { refusals, refusePath }, close: () => app.close() };
}

function answerOptions(response: ServerResponse, methods: readonly string[], operationId: string): void {
  const headers = { allow: methods.join(', '), 'postern-operation-id': operationId, 'cache-control': 'no-store' };
  response.writeHead(204, headers).end();
}

function addOperations<Ports>(
  app: FastifyInstance,
  deps: ApiDependencies<Ports>,
  { authenticate, gzip }: { readonly authenticate: Authenticate; readonly gzip: GzipResponses },
): void {
  const gate = { authenticate, rateLimit: new RateLimit(deps.rateLimitPerSecond, deps.clock) };
  const largeBodies = largeBodyGate(new LargeBodies());
  for (const operation of deps.operations) {
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{([^}]+)\}/g, ':$1'),
      config: { operation },
      bodyLimit: operation.body?.maxBytes ?? MAX_BODY_BYTES,
      onRequest: [
        operationGate(operation, gate),
        ...(takesBody(operation) ? [] : [ignoreContentType]),
        ...(operation.body?.maxBytes === undefined ? [] : [largeBodies]),
      ],
      handler: operationHandler(operation, deps.ports, {
        authenticate,
        others: deps.others,
        gzip,
        onAnswered: (request, status) => finish(request, status, deps),
      }),
    });
  }
}

function begin(request: FastifyRequest, newOperationId: () => string): void {
  request.postern = {
    operationId: newOperationId(),
    startedAt: performance.now(),
    apiKeyId: null,
    admission: null,
    largeBody: null,
  };
}

function finish(request: FastifyRequest, status: number, deps: AnswerRecords): void {
  const { operation } = request.routeOptions.config as { operation?: Operation };
  const { operationId, apiKeyId, startedAt } = request.postern;
  recordAnswer(
    { operation, operationId, method: request.method, path: pathOf(request.url), status, apiKeyId, startedAt },
    deps,
  );
}

interface ErrorDependencies extends AnswerRecords {
  readonly logger: Logger;
}

function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, deps: ErrorDependencies): void {
  const error = isCutOff(request) ? cutOffError(thrown) : shownError(thrown);
  const { operationId, largeBody } = request.postern;
  largeBody?.endTurn();
  if (error.status >= 500) logFailure(error, thrown, operationId, deps.logger);
  const body = errorBody(error, operationId);
  reply
    .code(error.status)
    .headers({
      ...(error.status === 503 && RETRY_SOON),
      ...error.headers,
      'postern-operation-id': operationId,
      'cache-control': 'no-store',
    })
    .type('application/json; charset=utf-8');
  if (error.code !== 'ERR_POSTERN_BODY_TOO_LARGE') {
    void reply.send(body);
    return;
  }
  // The framework would close the connection at once.
  reply.hijack();
  answerBeforeBody(request.raw, reply.raw, {
    status: error.status,
    headers: reply.getHeaders() as OutgoingHttpHeaders,
    body,
  });
  finish(request, error.status, deps);
}

/** A 503 is an answer that a part of the server chose: it says what is wrong, and no stack explains it further. */
function logFailure(error: PosternError, thrown: unknown, operationId: string, logger: Logger): void {
  const { code, message } = error;
  if (error.status !== 503) logger.error({ operation_id: operationId, err: thrown, code }, 'request failed');
  else if (code === 'ERR_POSTERN_STARTING') logger.info({ operation_id: operationId, code }, 'request came too early');
  else logger.warn({ operation_id: operationId, code, reason: message }, 'request refused for now');
}

/** The client disconnected, or broke the framing, before its body was complete. */
function isCutOff({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete;
}

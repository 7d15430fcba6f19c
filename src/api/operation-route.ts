import type { FastifyReply, FastifyRequest, onRequestAsyncHookHandler, RouteHandlerMethod } from 'fastify';
import type { TObject } from 'typebox';
import { documentErrors, invalidBody } from '../documents/errors.ts';
import { hasScope, scopeOf } from '../documents/scopes.ts';
import type { JsonObject } from '../lib/json.ts';
import { createDecoder } from '../lib/schema/decode-body.ts';
import { resourceErrors } from '../resources/errors.ts';
import type { Operation, OperationPorts, OperationRequest, OperationResult } from '../resources/operation.ts';
import type { Login } from './authentication.ts';
import { queryDecoder } from './query.ts';
import type { RateLimit } from './rate-limit.ts';
import { takesBody, unwrapBody } from './request-body.ts';
import { idempotencyOf, parseIfMatch } from './request-headers.ts';
import type { Admission } from './request-state.ts';
import { requestedVersion } from './version.ts';

const ID_PATTERN = /^[a-z]+_[0-9A-Za-z]{27}$/;

export interface Gate {
  readonly login: Login;
  readonly rateLimit: RateLimit;
}

/** Who, how often, which version, with what right: judged before a byte of the body is read. */
export function operationGate(operation: Operation, gate: Gate): onRequestAsyncHookHandler {
  const scope = scopeOf(operation.method, operation.path);
  return async (request) => {
    const caller = await gate.login(request);
    request.postern.apiKeyId = caller.principal.apiKeyId;
    gate.rateLimit.take(caller.principal.apiKeyId);
    const version = requestedVersion(request.headers, operation);
    if (!hasScope(caller.principal, scope)) {
      throw documentErrors.create(
        'ERR_POSTERN_FORBIDDEN',
        `this API key lacks the scope "${scope}": use a key that has it`,
        { details: { scope } },
      );
    }
    request.postern.admission = { principal: caller.principal, token: caller.token, version };
  };
}

export function operationHandler(operation: Operation, ports: OperationPorts): RouteHandlerMethod {
  const decodeQuery = queryDecoder(operation.query);
  const decodeBody = bodyDecoder(operation);
  return async (request, reply) => {
    // The gate has set it, or the request did not get here.
    const admission = request.postern.admission as Admission;
    const params = request.params as Record<string, string>;
    checkIds(params);
    const query = decodeQuery(request.query as Record<string, unknown>);
    const result = await operation.run(
      {
        operationId: request.postern.operationId,
        principal: admission.principal,
        params,
        query,
        body: decodeBody(request, params),
        ifMatch: operation.isConditional === true ? parseIfMatch(request.headers['if-match']) : null,
        idempotency: idempotency(operation, request, admission),
        version: admission.version.version,
        isLegacyClient: admission.version.isLegacyClient,
      } satisfies OperationRequest,
      ports,
    );
    return send(reply, operation, result);
  };
}

/** A malformed id, or one of another resource's prefix, names nothing: 404, without asking a database about odd bytes. */
function checkIds(params: Readonly<Record<string, string>>): void {
  for (const name in params) {
    if (name === 'type') continue;
    const value = params[name] as string;
    if (!ID_PATTERN.test(value)) {
      throw resourceErrors.create(
        'ERR_POSTERN_NOT_FOUND',
        `"${value.slice(0, 64)}" is not an id: an id is a prefix, "_" and 27 letters and digits`,
      );
    }
  }
}

function bodyDecoder(
  operation: Operation,
): (request: FastifyRequest, params: Readonly<Record<string, string>>) => JsonObject {
  if (!takesBody(operation)) return () => ({});
  const { body } = operation;
  if (body.isDecodedByOperation === true) return (request, params) => unwrapBody(body, request.body, params);
  const decoder = createDecoder(body.schema as TObject);
  return (request, params) => {
    const decoded = decoder.decode(unwrapBody(body, request.body, params));
    if (!decoded.ok) throw invalidBody(decoded.problems);
    return decoded.value;
  };
}

function idempotency(
  operation: Operation,
  request: FastifyRequest,
  admission: Admission,
): OperationRequest['idempotency'] {
  const header = request.headers['idempotency-key'] as string | undefined;
  if (operation.isIdempotentByKey !== true || header === undefined) return null;
  const path = request.url.split('?')[0] ?? '';
  return idempotencyOf(header, admission, {
    method: request.method,
    path,
    rawBody: JSON.stringify(request.body ?? null),
  });
}

function send(reply: FastifyReply, operation: Operation, result: OperationResult): FastifyReply | string {
  reply.code(result.status ?? operation.success.status);
  if (result.etag !== undefined) reply.header('etag', `"${result.etag}"`);
  if (result.revision !== undefined) reply.header('postern-revision', String(result.revision));
  if (result.headers !== undefined) reply.headers(result.headers);
  if (result.body === null) return reply.send();
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(result.text ?? JSON.stringify(result.body));
}

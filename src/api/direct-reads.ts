import type { IncomingMessage, ServerResponse } from 'node:http';
import { hasScope, scopeOf } from '../documents/scopes.ts';
import type { Operation, OperationPorts, OperationRequest, OperationResult } from '../resources/operation.ts';
import { type FindPrincipal, tokenIn } from './authentication.ts';
import { writeResult } from './operation-route.ts';
import { ReadRoutes } from './read-routes.ts';

export interface DirectReadsOptions {
  readonly operations: readonly Operation[];
  readonly ports: OperationPorts;
  readonly findPrincipal: FindPrincipal;
  newOperationId(): string;
  onAnswered(answered: AnsweredRead): void;
}

export interface AnsweredRead {
  readonly operation: Operation;
  readonly operationId: string;
  readonly path: string;
  readonly status: number;
  readonly apiKeyId: string;
  readonly startedAt: number;
}

/**
 * Serves successful plain reads without the framework, which costs as much as the rest of such a request. Everything
 * else (no key, no version, no such resource, a query, an escape in the path) falls through to the framework, which
 * reports the error. The only decision made here is "this is a valid read, and here is the response".
 */
export class DirectReads {
  readonly #options: DirectReadsOptions;
  readonly #routes: ReadRoutes;
  readonly #scopes: ReadonlyMap<Operation, string>;

  constructor(options: DirectReadsOptions) {
    this.#options = options;
    this.#routes = new ReadRoutes(options.operations);
    this.#scopes = new Map(
      options.operations.map((operation) => [operation, scopeOf(operation.method, operation.path)]),
    );
  }

  /**
   * Returns false when it did not respond and changed nothing. `goTheFullWay` is called when that becomes clear only
   * later.
   */
  answers(request: IncomingMessage, response: ServerResponse, goTheFullWay: () => void): boolean {
    const path = request.url ?? '';
    if (request.method !== 'GET' || path.includes('?') || path.includes('%')) return false;
    const startedAt = performance.now();
    const match = this.#routes.find(path);
    if (match === null) return false;
    const { operation } = match;
    const read = this.#admit(request, operation, match.params);
    if (read === null) return false;
    const answer = (result: OperationResult): void => {
      const status = result.status ?? operation.success.status;
      writeResult(response, read.operationId, status, result);
      const { operationId, principal } = read;
      this.#options.onAnswered({ operation, operationId, path, status, apiKeyId: principal.apiKeyId, startedAt });
    };
    try {
      const result = operation.run(read, this.#options.ports);
      if (result instanceof Promise) result.then(answer, goTheFullWay);
      else answer(result);
      return true;
    } catch {
      return false;
    }
  }

  #admit(
    request: IncomingMessage,
    operation: Operation,
    params: Readonly<Record<string, string>>,
  ): OperationRequest | null {
    const named = readHeaders(request.rawHeaders);
    if (named === null || named.version !== '2') return null;
    const token = tokenIn(named.authorization);
    const principal = token === null ? null : this.#options.findPrincipal(token);
    if (principal === null || !hasScope(principal, this.#scopes.get(operation) as string)) return null;
    return {
      operationId: this.#options.newOperationId(),
      principal,
      params,
      query: {},
      body: {},
      ifMatch: null,
      idempotency: null,
      version: 2,
      isLegacyClient: false,
    };
  }
}

/** The two relevant headers. Null when a closer look is needed: another version header, or a repeated one. */
function readHeaders(raw: readonly string[]): { readonly authorization: string; readonly version: string } | null {
  let authorization: string | null = null;
  let version: string | null = null;
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string;
    if (name.length !== 13 && name.length !== 15) continue;
    const lower = name.toLowerCase();
    if (lower === 'authorization') {
      if (authorization !== null) return null;
      authorization = raw[at + 1] as string;
    } else if (lower === 'service-version') {
      if (version !== null) return null;
      version = raw[at + 1] as string;
    } else if (lower === 'ngrok-version') return null;
  }
  return authorization === null || version === null ? null : { authorization, version };
}

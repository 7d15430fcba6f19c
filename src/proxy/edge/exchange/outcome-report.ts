import { reportBug } from '../../../kit/guarded-listeners.ts';
import type { TrafficRequest } from '../../../modules/contract/decides.ts';
import type { BackendOutcome } from '../../../modules/contract/prepared-module.ts';
import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import {
  REASON_OF_SHORTAGE,
  REQUEST_TOO_LARGE,
  RESPONSE_TOO_LARGE,
  TOO_MANY_FILES,
  UNSENDABLE_REQUEST,
  UPSTREAM_SHORTAGE,
} from '../../upstream/upstream-failure.ts';

/** A stream, such as server-sent events, may run for days: from here on, the backend has served it. */
const SERVED_AFTER_MS = 10_000;
const FIRST_SERVER_ERROR = 500;

/** Reasons of failures that say nothing about the backend: the request, or this server, may be to blame. */
const NOT_THE_BACKEND: ReadonlySet<string> = new Set([
  UNSENDABLE_REQUEST,
  REQUEST_TOO_LARGE,
  // A service may repeat what a visitor sent, such as the address to return to after a login.
  RESPONSE_TOO_LARGE,
  TOO_MANY_FILES,
  'node_isolated',
  // A visitor could have a backend switched off for everybody.
  REASON_OF_SHORTAGE.full,
  REASON_OF_SHORTAGE.share,
  UPSTREAM_SHORTAGE.full,
  UPSTREAM_SHORTAGE.share,
]);

/** Tells the modules of a route that want to know it how the backend served a request: once. */
export class OutcomeReport {
  readonly #request: TrafficRequest;
  readonly #listeners: RouteSnapshot['outcomeListeners'];
  #headAtMs: number | null = null;
  #isSettled = false;

  constructor(request: TrafficRequest, listeners: RouteSnapshot['outcomeListeners']) {
    this.#request = request;
    this.#listeners = listeners;
  }

  /** The head of the backend's response. */
  answered(status: number, nowMs: number): void {
    if (status >= FIRST_SERVER_ERROR) this.settle('server_error');
    else this.#headAtMs = nowMs;
  }

  /** No target could be used. */
  failed(reason: string): void {
    this.settle(NOT_THE_BACKEND.has(reason) ? 'none' : 'failed');
  }

  /** Called twice a second. */
  look(nowMs: number): void {
    if (this.#headAtMs !== null && nowMs - this.#headAtMs >= SERVED_AFTER_MS) this.settle('served');
  }

  /** The first outcome counts. */
  settle(outcome: BackendOutcome): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    for (const { prepared } of this.#listeners) {
      try {
        prepared.settled(this.#request, outcome);
      } catch (error) {
        reportBug(error, { request_id: this.#request.id });
      }
    }
  }
}

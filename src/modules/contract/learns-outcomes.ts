import type { TrafficRequest } from './traffic-request.ts';

/** A capability: learns how the backend served the requests of a route. */
export interface LearnsOutcomes {
  /**
   * Called once for each request that a visitor sent to the route, as soon as its outcome is known: at the head of a
   * response of 500 or more and of a switch to another protocol, otherwise at the end of the response. A response that
   * still runs ten seconds after its head has been served. If a request starts again, because the configuration changed
   * while a module decided, only the hooks of the last version learn it.
   */
  settled?(request: TrafficRequest, outcome: BackendOutcome): void;
}

/**
 * | outcome | what happened |
 * |---|---|
 * | `served` | the backend has sent a response with a status below 500, and all of it |
 * | `server_error` | the backend has sent a status of 500 or more |
 * | `failed` | the backend could not be reached, sent no valid response, or broke it off |
 * | `none` | nothing is known: the visitor left or sent a broken request, a module or the edge itself answered, or the request was cut |
 */
export type BackendOutcome = 'served' | 'server_error' | 'failed' | 'none';

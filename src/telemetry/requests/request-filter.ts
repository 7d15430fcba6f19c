import type { JsonObject } from '../../lib/json.ts';
import type { RecordedRequest } from './recorded-request.ts';

/** Which requests of the history are wanted. */
export interface RequestFilter {
  readonly host?: string;
  /** `404`, or a class such as `4xx`. */
  readonly status?: string;
  /** Id of a user, service account or guest link. */
  readonly user?: string;
  readonly route?: string;
  /** Only requests that finished at this time or later. */
  readonly sinceMs?: number;
  /** Only requests that started before this one. */
  readonly beforeId?: string;
}

/** What a filter compares. */
export type FilteredRequest = Pick<
  RecordedRequest,
  'id' | 'startedAtMs' | 'durationMs' | 'host' | 'userId' | 'routeId' | 'status'
>;

export function matches(request: FilteredRequest, filter: RequestFilter): boolean {
  const { host, status, user, route, sinceMs, beforeId } = filter;
  return (
    (beforeId === undefined || request.id < beforeId) &&
    (sinceMs === undefined || request.startedAtMs + request.durationMs >= sinceMs) &&
    (host === undefined || request.host === host) &&
    (user === undefined || request.userId === user) &&
    (route === undefined || request.routeId === route) &&
    (status === undefined || hasStatus(request.status, status))
  );
}

function hasStatus(actual: number, wanted: string): boolean {
  return wanted.endsWith('xx') ? String(actual).startsWith(wanted.slice(0, 1)) : actual === Number(wanted);
}

const TEXTS = ['host', 'status', 'user', 'route', 'beforeId'] as const;

/** From the message of another node, which may be newer: fields that are unknown here are ignored. */
export function filterFrom(message: JsonObject): RequestFilter {
  const filter: Record<string, string | number> = {};
  for (const name of TEXTS) {
    const value = message[name];
    if (typeof value === 'string') filter[name] = value;
  }
  const since = message['sinceMs'];
  if (typeof since === 'number') filter['sinceMs'] = since;
  return filter;
}

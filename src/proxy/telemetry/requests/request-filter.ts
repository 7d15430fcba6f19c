import { isJsonObject, type JsonObject, type JsonValue } from '../../../kit/json.ts';
import type { RecordedRequest } from './recorded-request.ts';

/** Which requests of the history are wanted. */
export interface RequestFilter {
  readonly host?: string;
  /** `404`, or a class such as `4xx`. */
  readonly status?: string;
  /** Id of a user, service account or guest link. */
  readonly user?: string;
  readonly route?: string;
  readonly edge?: string;
  /** Each must occur. */
  readonly words?: readonly SearchedWord[];
  /** Only requests that finished at this time or later. */
  readonly sinceMs?: number;
  /** Only requests that started before this one. */
  readonly beforeId?: string;
}

/** A word that somebody looks for, in lower case, and the ids of people and edges whose names it occurs in. */
export type SearchedWord = { readonly text: string; readonly ids: readonly string[] };

/** What a filter compares. */
export type FilteredRequest = Pick<
  RecordedRequest,
  | ('id' | 'startedAtMs' | 'durationMs' | 'host' | 'userId' | 'routeId' | 'status')
  | ('method' | 'path' | 'clientAddress' | 'errorCode' | 'edgeId')
>;

export function matches(request: FilteredRequest, filter: RequestFilter): boolean {
  const { host, status, user, route, edge, sinceMs, beforeId, words } = filter;
  return (
    (beforeId === undefined || request.id < beforeId) &&
    (sinceMs === undefined || request.startedAtMs + request.durationMs >= sinceMs) &&
    (host === undefined || request.host === host) &&
    (user === undefined || request.userId === user) &&
    (route === undefined || request.routeId === route) &&
    (edge === undefined || request.edgeId === edge) &&
    (status === undefined || hasStatus(request.status, status)) &&
    (words === undefined || words.every((word) => hasWord(request, word)))
  );
}

/** In the texts that a list of requests shows. */
function hasWord(request: FilteredRequest, { text, ids }: SearchedWord): boolean {
  const { id, host, path, method, clientAddress, userId, edgeId, errorCode, status } = request;
  return (
    occursIn(`${host ?? ''}${path ?? ''}`, text) ||
    clientAddress.startsWith(text) ||
    String(status) === text ||
    (method !== null && method.toLowerCase() === text) ||
    (errorCode !== null && occursIn(errorCode, text)) ||
    id.toLowerCase() === text ||
    (userId !== null && (ids.includes(userId) || userId.toLowerCase() === text)) ||
    (edgeId !== null && (ids.includes(edgeId) || edgeId.toLowerCase() === text))
  );
}

function occursIn(where: string, text: string): boolean {
  return where.toLowerCase().includes(text);
}

function wordsFrom(value: JsonValue | undefined): readonly SearchedWord[] | null {
  if (!Array.isArray(value)) return null;
  return value.filter(isJsonObject).map(({ text, ids }) => ({
    text: typeof text === 'string' ? text : '',
    ids: Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [],
  }));
}

/**
 * What a filter compares, of a request that was made into a document before: of another node, or of an earlier process.
 */
export function filteredFrom(document: JsonObject): FilteredRequest {
  const { id, at, host, path, method, status, user = null, edge, route, client_address, error_code = null } = document;
  const { duration_ms: durationMs } = document;
  return {
    ...{ id, host, path, method, status, durationMs, startedAtMs: Date.parse(at as string) },
    ...{ userId: user, edgeId: edge, routeId: route, clientAddress: client_address, errorCode: error_code },
  } as unknown as FilteredRequest;
}

function hasStatus(actual: number, wanted: string): boolean {
  return wanted.endsWith('xx') ? String(actual).startsWith(wanted.slice(0, 1)) : actual === Number(wanted);
}

const TEXTS = ['host', 'status', 'user', 'route', 'edge', 'beforeId'] as const;

/** From the message of another node, which may be newer: fields that are unknown here are ignored. */
export function filterFrom(message: JsonObject): RequestFilter {
  const filter: Record<string, string | number | readonly SearchedWord[]> = {};
  const words = wordsFrom(message['words']);
  if (words !== null) filter['words'] = words;
  for (const name of TEXTS) {
    const value = message[name];
    if (typeof value === 'string') filter[name] = value;
  }
  const since = message['sinceMs'];
  if (typeof since === 'number') filter['sinceMs'] = since;
  return filter;
}

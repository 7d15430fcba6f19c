import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import type { CanonicalPath } from '../../snapshot/canonical-path.ts';
import { type CountedRequest, keptText, type RecordedRequest } from '../../telemetry/requests/recorded-request.ts';
import type { ConnectionFacts } from '../connections/connection-facts.ts';
import type { UnreadRefusal } from '../edge-runtime.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { RequestHead } from '../http/request-head.ts';
import { unreadReason } from './access-log.ts';

/** What of a request may be kept, beside what the access log has. */
export interface RecordingSettings {
  /** Names of client headers, in lower case. */
  readonly headers: readonly string[];
  readonly keepsQuery: boolean;
}

const MAX_PATH = 1_024;
const MAX_HEADER = 512;
const NONE: readonly never[] = [];

export function recordedRequest(exchange: Exchange, durationMs: number, settings: RecordingSettings): RecordedRequest {
  const { route, permit, status, startedAt, admittedAt, answeredAt } = exchange;
  const { head } = exchange.client;
  const { target, path } = head.path;
  return {
    id: exchange.id,
    startedAtMs: exchange.nowMs,
    durationMs,
    method: head.method,
    host: head.host,
    // A part of the target would keep the query in memory with it.
    path: keptText(path, target.length === path.length ? MAX_PATH : 0, MAX_PATH),
    query: settings.keepsQuery ? keptQuery(head.path) : null,
    status,
    errorCode: exchange.errorCode,
    edgeId: route?.edgeId ?? null,
    routeId: route?.id ?? null,
    clientAddress: exchange.clientAddress,
    userId: permit?.userId ?? null,
    userKind: permit?.identity.kind ?? null,
    headers: listedHeaders(head.headers, settings.headers),
    bytesIn: exchange.bytesIn,
    bytesOut: exchange.bytesOut,
    passes: exchange.passes,
    waits: exchange.waits,
    refusedBy: exchange.refusedBy,
    answeredBy: exchange.answeredBy,
    decidingRule: exchange.decidingRuleText,
    target: exchange.targetName,
    tunnelNode: exchange.tunnelNode,
    admittedMs: admittedAt === 0 ? null : admittedAt - startedAt,
    answeredMs: answeredMs(status, answeredAt, startedAt, durationMs),
  };
}

/** For statistics, while nobody wants to know more. */
export function countedRequest({ route, status, bytesIn, bytesOut }: Exchange, durationMs: number): CountedRequest {
  return { edgeId: route?.edgeId ?? null, routeId: route?.id ?? null, status, durationMs, bytesIn, bytesOut };
}

/** Not of paths that modules serve: guest links, codes and states of logins are secrets, also on a host without the module. */
function keptQuery({ target, path, key }: CanonicalPath): string | null {
  if (target.length === path.length || isOwnPathText(key)) return null;
  return keptText(target.slice(path.length + 1), 0, MAX_PATH);
}

function answeredMs(status: number, answeredAt: number, startedAt: number, durationMs: number): number | null {
  if (answeredAt !== 0) return answeredAt - startedAt;
  return status === 0 ? null : durationMs;
}

function listedHeaders(headers: HeaderList, names: readonly string[]): HeaderList {
  let listed: string[] | null = null;
  for (const name of names) {
    const value = firstValue(headers, name);
    if (value === undefined) continue;
    // A Referer may be the address of an own path, with its query.
    const shown = name === 'referer' && isOwnPathText(value) ? '' : keptText(value, MAX_HEADER, MAX_HEADER);
    if (listed === null) listed = [name, shown];
    else listed.push(name, shown);
  }
  return listed ?? NONE;
}

/** For a request that could not be parsed. */
export function recordedUnread(
  { edgeId, remoteAddress }: ConnectionFacts,
  { id, status, code, bytesOut }: UnreadRefusal,
  nowMs: number,
): RecordedRequest {
  return {
    id,
    startedAtMs: nowMs,
    durationMs: 0,
    method: null,
    host: null,
    path: null,
    query: null,
    status,
    errorCode: code,
    edgeId: edgeId === '' ? null : edgeId,
    routeId: null,
    clientAddress: remoteAddress,
    userId: null,
    userKind: null,
    headers: NONE,
    bytesIn: 0,
    bytesOut,
    passes: NONE,
    waits: NONE,
    refusedBy: `edge:${unreadReason(code)}`,
    answeredBy: null,
    decidingRule: null,
    target: null,
    tunnelNode: null,
    admittedMs: null,
    answeredMs: 0,
  };
}

type EarlyFacts = Pick<
  RecordedRequest,
  'id' | 'startedAtMs' | 'status' | 'errorCode' | 'edgeId' | 'clientAddress' | 'bytesOut'
> &
  Pick<RecordedRequest, 'passes' | 'refusedBy' | 'answeredBy' | 'decidingRule'>;

/** For a request that was answered before a route was looked for. `head`: null when it could not be parsed. */
export function recordedEarly(
  facts: EarlyFacts,
  head: RequestHead | null,
  { headers, keepsQuery }: RecordingSettings,
): RecordedRequest {
  return {
    ...facts,
    durationMs: 0,
    method: head?.method ?? null,
    host: head?.host ?? null,
    path: head === null ? null : keptText(head.path.path, 0, MAX_PATH),
    query: head !== null && keepsQuery ? keptQuery(head.path) : null,
    routeId: null,
    userId: null,
    userKind: null,
    headers: head === null ? NONE : listedHeaders(head.headers, headers),
    bytesIn: 0,
    waits: NONE,
    target: null,
    tunnelNode: null,
    admittedMs: null,
    answeredMs: 0,
  };
}

/**
 * Paths below it belong to modules. In any case of letters, escaped, and behind other segments: a mistyped link has its
 * secret, too.
 */
const OWN_PATH = /(?:[/\\]|%2f|%5c)(?:\.|%2e)postern(?:[/\\;]|%2f|%5c|$)/i;

function isOwnPathText(text: string): boolean {
  return OWN_PATH.test(text);
}

import { randomBytes } from 'node:crypto';
import { withoutMarked } from '../../../kit/http/cookie-header.ts';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import type { TrafficRequest } from '../../../modules/contract/decides.ts';
import { OWN_COOKIE_MARK } from '../../../modules/contract/prepared-module.ts';
import type { OwnCookieNames, RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { RequestTrace } from '../../tracing/request-trace.ts';
import type { RequestBody, RouteTaken, UpstreamRequest } from '../../upstream/upstream.ts';
import type { ClientSide } from '../connections/connection-facts.ts';
import type { RequestHead } from '../http/request-head.ts';
import { withoutNames } from './module-headers.ts';

export interface ForwardingRuntime {
  readonly scheme: 'http' | 'https';
  readonly forwarding: ForwardingSettings;
  /** Whether requests that are only explained show a trace context. */
  readonly isTraced?: boolean;
  trustedChain(remoteAddress: string, head: RequestHead): string | null;
}

/** What a request that is forwarded must know: an exchange, or one that is only explained. */
export interface ForwardableRequest extends TrafficRequest, RouteTaken {
  readonly connection: { readonly remoteAddress: string };
  readonly runtime: ForwardingRuntime;
  /** Null: the client's own trace context passes unchanged. */
  readonly trace?: Pick<RequestTrace, 'writeTo' | 'forHop'> | null;
  bytesIn: number;
}

const NONE: readonly HeaderList[] = [];
const NO_BODY: RequestBody = { framing: 'none' };

/** The request as its upstream receives it. */
export function forwardedRequest(
  exchange: ForwardableRequest,
  client: ClientSide,
  changedHeaders: HeaderList,
  route: RouteSnapshot,
): UpstreamRequest {
  const { head } = client;
  const headers = withoutOwnCookies(changedHeaders);
  let standing: HeaderList[] | null = null;
  for (const { prepared } of route.modules) {
    if (prepared.upstreamHeaders === undefined) continue;
    standing ??= [];
    standing.push(prepared.upstreamHeaders(exchange));
  }
  const { changedHead } = client;
  const ownHeaders = changedHead === undefined ? headers : [];
  forwardedHeaders(ownHeaders, head, exchange.connection.remoteAddress, exchange.runtime);
  if (changedHead !== undefined) headers.push(...withoutNames(ownHeaders, changedHead.withoutForwarded));
  headers.push('postern-request-id', exchange.id);
  const { trace = null } = exchange;
  trace?.writeTo(headers);
  const { method, path, authority, switchTo } = head;
  // RFC 8441 §5.1: HTTP/2 has no key, but an HTTP/1.1 upstream requires one.
  if (switchTo !== null && firstValue(headers, 'sec-websocket-key') === undefined) {
    headers.push('sec-websocket-key', randomBytes(16).toString('base64'));
  }
  const body = requestBody(exchange, client);
  const request = {
    method,
    target: changedHead?.target ?? path.target,
    authority: changedHead?.host ?? authority,
    headers,
    standing: standing ?? NONE,
    body,
    switchTo,
    routeTaken: exchange,
    visitor: exchange.clientAddress,
  };
  const hopTrace = trace?.forHop;
  return hopTrace === undefined ? request : { ...request, hopTrace };
}

function requestBody(exchange: ForwardableRequest, client: ClientSide): RequestBody {
  const { head, source, trailers, isBodyWhole: isWhole } = client;
  const { contentLength, isChunked, expectsContinue } = head;
  if (source === null || contentLength === 0) return NO_BODY;
  let uncounted = -(client.countedBytes ?? 0);
  const onBytes = (count: number): void => {
    uncounted += count;
    if (uncounted <= 0) return;
    exchange.bytesIn += uncounted;
    uncounted = 0;
  };
  if (contentLength !== null)
    return { framing: 'length', bytes: contentLength, source, expectsContinue, onBytes, isWhole };
  return isChunked ? { framing: 'chunked', source, expectsContinue, onBytes, isWhole, trailers } : NO_BODY;
}

export interface ForwardingSettings {
  /** Adds RFC 7239 `Forwarded` as well. */
  readonly addsForwarded: boolean;
}

/**
 * Headers that tell the upstream about the client. The client's own versions were removed, or came from a trusted
 * proxy.
 */
function forwardedHeaders(
  into: string[],
  head: RequestHead,
  remoteAddress: string,
  runtime: {
    readonly scheme: 'http' | 'https';
    readonly forwarding: ForwardingSettings;
    trustedChain(remoteAddress: string, head: RequestHead): string | null;
  },
): void {
  const chain = runtime.trustedChain(remoteAddress, head);
  into.push('x-forwarded-for', chain === null ? remoteAddress : `${chain}, ${remoteAddress}`);
  into.push('x-forwarded-proto', runtime.scheme, 'x-forwarded-host', head.authority);
  if (!runtime.forwarding.addsForwarded) return;
  const before = chain === null ? '' : `${chain.split(', ').map(forwardedFor).join(', ')}, `;
  into.push('forwarded', `${before}${forwardedFor(remoteAddress)};host="${head.authority}";proto=${runtime.scheme}`);
}

/** RFC 7239 §6: an IPv6 address is written in brackets, and a value with brackets and colons is quoted. */
function forwardedFor(address: string): string {
  return `for=${address.includes(':') ? `"[${address}]"` : address}`;
}

/** A copy without our own cookies: they grant access to the edge and must not reach upstreams. */
export function withoutOwnCookies(headers: HeaderList): string[] {
  const kept = headers.slice();
  for (let at = kept.length - 2; at >= 0; at -= 2) {
    if (kept[at] !== 'cookie' || kept[at + 1]?.includes(OWN_COOKIE_MARK) !== true) continue;
    const others = withoutMarked(kept[at + 1] as string, OWN_COOKIE_MARK);
    if (others === '') kept.splice(at, 2);
    else kept[at + 1] = others;
  }
  return kept;
}

/**
 * Removes headers that an upstream must not send from a head, a 1xx response or trailers: `Postern-…`, which only the
 * edge sets, and `Set-Cookie` of our own cookies, with which an upstream could swap or end a visitor's login.
 */
export function withoutOwnHeaders(headers: HeaderList, ownCookieNames: OwnCookieNames): HeaderList {
  for (let at = 0; at < headers.length; at += 2) {
    if (isReserved(headers, at, ownCookieNames)) {
      return headers.filter((_, index) => !isReserved(headers, index - (index % 2), ownCookieNames));
    }
  }
  return headers;
}

/** The same list where none of its lines sets one of our cookies. */
export function withoutSetOwnCookies(headers: HeaderList, ownCookieNames: OwnCookieNames): HeaderList {
  const isOwn = (at: number): boolean =>
    headers[at] === 'set-cookie' && setsOwnCookie(headers[at + 1] ?? '', ownCookieNames);
  for (let at = 0; at < headers.length; at += 2) {
    if (isOwn(at)) return headers.filter((_, index) => !isOwn(index - (index % 2)));
  }
  return headers;
}

/** With the id that a visitor quotes to the operator. */
export function withRequestId(
  headers: HeaderList,
  { id, runtime }: { readonly id: string; readonly runtime: { readonly marksForwarded: boolean } },
): HeaderList {
  return runtime.marksForwarded ? [...headers, 'postern-request-id', id] : headers;
}

function isReserved(headers: HeaderList, at: number, ownCookieNames: OwnCookieNames): boolean {
  const name = headers[at] ?? '';
  if (name === 'set-cookie') return setsOwnCookie(headers[at + 1] ?? '', ownCookieNames);
  return name.startsWith('postern-');
}

/**
 * Whether a `Set-Cookie` line could become one of our cookies. It is interpreted more broadly than by any browser:
 * - The mark counts anywhere in the line, because some clients accept quoted values with semicolons, and comma lists.
 * - The name counts as RFC 6265bis §5.6 defines it, in any case, without control characters, which browsers drop or cut
 *   at. For a cookie without a name (`=postern.session=…`) it is the name that the server will read when the browser
 *   sends only the value.
 */
export function setsOwnCookie(line: string, ownCookieNames: OwnCookieNames): boolean {
  if (line.includes(OWN_COOKIE_MARK)) return true;
  const pair = /^[\s=\p{Cc}]*([^;=]*)/u.exec(line)?.[1] ?? '';
  const name = pair.replaceAll(/[\s"\p{Cc}]/gu, '').toLowerCase();
  return ownCookieNames.has(name);
}

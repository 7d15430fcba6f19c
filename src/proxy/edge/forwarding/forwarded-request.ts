import { randomBytes } from 'node:crypto';
import { firstValue, type HeaderList } from '../../../kit/http/header-values.ts';
import type { TrafficRequest } from '../../../modules/contract/decides.ts';
import type { RouteSnapshot } from '../../snapshot/edge-snapshot.ts';
import type { RequestTrace } from '../../tracing/request-trace.ts';
import type { RequestBody, RouteTaken, UpstreamRequest } from '../../upstream/upstream.ts';
import type { ClientSide } from '../connections/connection-facts.ts';
import type { RequestHead } from '../http/request-head.ts';
import { withoutNames } from './module-headers.ts';
import { withoutOwnCookies } from './own-cookies.ts';

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

import type { HeaderList } from '../lib/http/header-values.ts';
import { isAllowedInTrailers, isToken } from '../lib/http1/header-names.ts';
import { assertSafeName, assertSafeRequest, assertSafeValue, isSafeValue } from './request-headers.ts';
import { standingLines } from './standing-headers.ts';
import type { UpstreamRequest } from './upstream.ts';

/**
 * The complete head of a request. Throws `UnsafeRequestError` on anything that could end a line or contradict the
 * framing.
 */
export function http1RequestHead(request: UpstreamRequest): string {
  assertSafeRequest(request);
  const { headers } = request;
  let head = `${request.method} ${request.target} HTTP/1.1\r\nhost: ${request.authority}\r\n`;
  let cookies = '';
  let wantsTrailers = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    assertSafeName(name);
    assertSafeValue(name, value);
    // RFC 9113 §8.2.3: HTTP/2 clients split cookies into crumbs; HTTP/1.1 requires one header.
    if (name === 'cookie') cookies = cookies === '' ? value : `${cookies}; ${value}`;
    else if (name === 'te') wantsTrailers ||= value === 'trailers';
    else head += `${name}: ${value}\r\n`;
  }
  for (const list of request.standing ?? []) head += standingLines(list);
  if (cookies !== '') head += `cookie: ${cookies}\r\n`;
  return `${head}${connectionLines(request.switchTo, wantsTrailers)}${framingLines(request)}\r\n`;
}

function connectionLines(switchTo: string | null, wantsTrailers: boolean): string {
  if (switchTo !== null) {
    assertSafeValue('upgrade', switchTo);
    return `connection: upgrade\r\nupgrade: ${switchTo}\r\n`;
  }
  return wantsTrailers ? 'connection: te\r\nte: trailers\r\n' : '';
}

function framingLines({ method, body }: UpstreamRequest): string {
  if (body.framing === 'none') {
    // RFC 9110 §8.6: methods that expect a body announce an empty one.
    return method === 'POST' || method === 'PUT' || method === 'PATCH' ? 'content-length: 0\r\n' : '';
  }
  const framing = body.framing === 'length' ? `content-length: ${body.bytes}\r\n` : 'transfer-encoding: chunked\r\n';
  return body.expectsContinue ? `${framing}expect: 100-continue\r\n` : framing;
}

/** The end of a chunked body. Trailers arrive from the client while its body is being sent: unsafe ones are dropped. */
export function lastChunk(trailers: HeaderList): string {
  let lines = '0\r\n';
  for (let i = 0; i < trailers.length; i += 2) {
    const name = trailers[i] as string;
    const value = trailers[i + 1] as string;
    if (isToken(name) && isAllowedInTrailers(name) && isSafeValue(value)) lines += `${name}: ${value}\r\n`;
  }
  return `${lines}\r\n`;
}

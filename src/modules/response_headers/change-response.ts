import { withoutMarked } from '../../lib/http/cookie-header.ts';
import type { HeaderList } from '../../lib/http/header-list.ts';
import type { ResponseTransform, TrafficResponseHead } from '../contract/changes-responses.ts';
import type { PreparePorts } from '../contract/prepare.ts';
import type { PreparedModule } from '../contract/prepared-module.ts';
import { OWN_COOKIE_MARK } from '../contract/serves-paths.ts';
import type { TrafficRequest } from '../contract/traffic-request.ts';
import { AddedHeaders } from '../header_changes/added-headers.ts';
import type { HeaderChangesState } from '../header_changes/header-changes.ts';
import type { HeaderConfig } from '../header_changes/header-config.ts';

/** Removes first, from the head and the trailers, then adds. */
export function changeResponse(
  { add, remove }: HeaderConfig,
  { place, runtime }: PreparePorts<HeaderChangesState>,
): Pick<PreparedModule, 'transform' | 'informational'> {
  const added = new AddedHeaders(add, () => runtime?.leftOut('response_headers'));
  const removed = new Set(remove);
  const without = (headers: HeaderList): HeaderList =>
    removed.size === 0 ? headers : headers.filter((_, at) => !removed.has(headers[at - (at % 2)] as string));
  return {
    transform: (request: TrafficRequest, head: TrafficResponseHead): ResponseTransform => {
      const source = { request, headerLines: sentLines(request), response: head, place };
      const headers = [...without(head.headers), ...(added.fixed ?? added.list(source))];
      return { headers, createStream: null, trailers: without };
    },
    informational: without,
  };
}

/** A page could read what it is sent: passwords, tokens, and cookies that log the visitor in here are not in it. */
function sentLines(request: TrafficRequest): (name: string) => readonly string[] {
  let cookies: readonly string[] | null = null;
  return (name) => {
    if (name === 'authorization') return [];
    if (name !== 'cookie') return request.headerLines(name);
    cookies ??= request.headerLines(name).map((line) => withoutMarked(line, OWN_COOKIE_MARK));
    return cookies;
  };
}

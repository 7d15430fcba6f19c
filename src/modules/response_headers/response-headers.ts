import { withoutMarked } from '../../kit/http/cookie-header.ts';
import type { HeaderList } from '../../kit/http/header-values.ts';
import type { TrafficRequest } from '../contract/decides.ts';
import { defineModule } from '../contract/module.ts';
import type { PreparePorts } from '../contract/prepare.ts';
import {
  OWN_COOKIE_MARK,
  type PreparedModule,
  type ResponseTransform,
  type TrafficResponseHead,
} from '../contract/prepared-module.ts';
import {
  AddedHeaders,
  type HeaderChangesState,
  headerChanges,
  headerProblems,
  pathHeader,
} from '../header_changes/header-changes.ts';
import { type HeaderConfig, headerAgent, headerConfig, withLowerCaseNames } from '../header_changes/header-config.ts';

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

/** Changes the headers of responses of backends. */
export const responseHeaders = defineModule({
  name: 'response_headers',
  on: ['requests'],
  decidesAccess: false,
  readsPath: pathHeader,
  title: 'Response headers module',
  description: 'Removes headers from responses of the backend, and adds others. Pages of the edge itself keep theirs.',
  config: headerConfig('response'),
  example: { add: { 'x-frame-options': 'DENY' }, remove: ['server'] },
  shared: [headerChanges],
  createRuntime: async (ports) => ports.shared(headerChanges),
  check: (config) => headerProblems(config, () => null),
  normalize: withLowerCaseNames,
  agent: headerAgent('response', 7),
  prepare: (config, ports) => ({ ok: true, prepared: changeResponse(config, ports) }),
});

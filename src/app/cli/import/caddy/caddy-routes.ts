import { isJsonObject, type JsonObject, type JsonValue } from '../../../../kit/json.ts';
import { type ImportReport, isUnset, unknownFields } from '../import-report.ts';
import { type HeaderChanges, notUnderstood, withOperations, withoutOwnHeaders } from './caddy-handlers.ts';
import { nextRewrite, type Rewrite, redirectOf, rewriteRule } from './caddy-paths.ts';
import { type CaddySites, EVERYTHING, narrow, type Scope, type SiteRule, type SiteTarget } from './caddy-sites.ts';

const NO_SUCH_FIELD = 'Postern has no such field';

/** Null after the reason was reported. */
function proxyTarget(handler: JsonObject, place: readonly string[], report: ImportReport): SiteTarget | null {
  const { handler: _, upstreams, transport, load_balancing: balancing, headers: _headers, ...rest } = handler;
  const dials = Array.isArray(upstreams) ? (upstreams as readonly JsonValue[]).filter(isJsonObject) : [];
  const addresses = dials.map(({ dial }) => (typeof dial === 'string' ? dial.replace(/^tcp\//, '') : ''));
  if (addresses.length === 0 || addresses.some((each) => !/^(\[[0-9a-f:]+\]|[\w.-]+):\d{1,5}$/i.test(each))) {
    report.drop([...place, 'upstreams'], 'written without a backend (503): every upstream must be host:port');
    return null;
  }
  for (const { dial: _dial, ...upstream } of dials) report.dropFields([...place, 'upstreams'], upstream, NO_SUCH_FIELD);
  for (const [name, value] of Object.entries(rest))
    report.dropFields([...place, name], value as JsonValue, NO_SUCH_FIELD);
  const { protocol, tls, ...otherTransport } = isJsonObject(transport) ? transport : { protocol: 'http' };
  if (protocol !== 'http') {
    report.drop([...place, 'transport', 'protocol'], 'written without a backend (503): Postern forwards HTTP only');
    return null;
  }
  report.dropFields([...place, 'transport'], otherTransport, NO_SUCH_FIELD);
  report.dropFields(
    [...place, 'transport', 'tls'],
    tls,
    'Postern verifies the certificate of the upstream with the CAs of the server',
  );
  const { selection_policy: selection, ...otherBalancing } = isJsonObject(balancing) ? balancing : {};
  report.dropFields([...place, 'load_balancing'], otherBalancing, NO_SUCH_FIELD);
  const policy = isJsonObject(selection) ? selection['policy'] : undefined;
  if (policy !== undefined && !['first', 'random', 'round_robin'].includes(String(policy as string))) {
    report.drop([...place, 'load_balancing', 'selection_policy'], 'requests are distributed at random instead');
  }
  return {
    kind: 'addresses',
    addresses: [...new Set(addresses)],
    hasTls: tls !== undefined,
    isOrdered: policy === 'first',
  };
}

/** Whether a handler turns requests away. */
function isRefusal(name: string, { status_code: status, abort }: JsonObject): boolean {
  if (name === 'error' || name === 'abort') return true;
  return name === 'static_response' && ((!isUnset(abort) && abort !== false) || Number(status ?? 200) >= 400);
}

/** Null after the reason was reported. */
function responseTarget(handler: JsonObject, place: readonly string[], report: ImportReport): SiteTarget | null {
  const { handler: _, status_code: status, body, headers, abort, ...rest } = handler;
  if (!isUnset(abort) && abort !== false) {
    report.drop(place, 'written without a backend (503): Postern does not abort connections');
    return null;
  }
  if (JSON.stringify(handler).includes('{http.')) {
    report.drop(place, 'written without a backend (503): a fixed response has no placeholders');
    return null;
  }
  for (const [name, value] of Object.entries(rest))
    report.dropFields([...place, name], value as JsonValue, NO_SUCH_FIELD);
  const fields = Object.entries(isJsonObject(headers) ? headers : {}).map(([name, value]) => {
    return [name, Array.isArray(value) ? value.join(', ') : value] as const;
  });
  const response: JsonObject = {
    status_code: Number(status ?? 200),
    body: typeof body === 'string' ? body : '',
    ...(isUnset(headers) ? {} : { headers: Object.fromEntries(fields) as JsonObject }),
  };
  return { kind: 'response', response };
}

/** What earlier handlers did to the requests that reach a handler. */
interface State {
  isCompressed: boolean;
  /** Null: the path is the one that the visitor sent. */
  rewrite: Rewrite | null;
  requestHeaders: HeaderChanges;
  responseHeaders: HeaderChanges;
}

/** Handlers that change nothing about who gets which answer. */
const HARMLESS = ['vars', 'tracing', 'log_append', 'map', 'copy_response_headers', 'request_body', 'push'];
/** Handlers that answer: nothing behind them is reached. */
const ANSWERS = ['reverse_proxy', 'static_response', 'file_server', 'error', 'abort'];
const NONE: ReadonlySet<string> = new Set();
const NO_HEADERS = 'the modules for headers do not do the same';
const UNEXPECTED = 'it has an unexpected shape';
const NO_HASHES =
  'hashes of passwords cannot be carried over: set new passwords in the basic_auth module of the route, then give it its backend';

/**
 * Reads the routes of one server in order, as Caddy runs them. A host of which anything is not understood is not
 * served.
 */
export class CaddyRoutes {
  readonly #sites: CaddySites;
  readonly #report: ImportReport;
  /** Hosts of the server. */
  readonly hosts = new Set<string>();
  /** Why no host that follows can be served. */
  #obstacle: string | null;

  constructor(sites: CaddySites, report: ImportReport, obstacle: string | null) {
    this.#sites = sites;
    this.#report = report;
    this.#obstacle = obstacle;
  }

  /** Whether every request of the scope is answered: then nothing goes on to what follows. */
  read(routes: JsonValue | undefined, scope: Scope, place: readonly string[], state: State): boolean {
    if (!Array.isArray(routes) && routes !== undefined) this.#block(scope.hosts, [...place, 'routes'], UNEXPECTED);
    let isAnswered = false;
    for (const [index, route] of (Array.isArray(routes) ? (routes as readonly JsonValue[]) : []).entries()) {
      const at = [...place, 'routes', String(index)];
      if (!isJsonObject(route)) this.#block(scope.hosts, at, UNEXPECTED);
      else if (isAnswered) this.#report.drop(at, 'not written: an earlier route answers everything');
      else isAnswered = this.#route(route, scope, at, state);
    }
    return isAnswered;
  }

  /** Whether it answers every request of the scope. What it did otherwise is in the state afterwards. */
  #route(route: JsonObject, scope: Scope, place: readonly string[], state: State): boolean {
    const { match, handle = [], terminal = false, group = null, ...rest } = route;
    const narrowed = narrow(scope, match);
    if ('problem' in narrowed) {
      this.#report.drop([...place, 'match'], `not written: ${narrowed.problem}`);
      this.#block(narrowed.hosts, place, 'it may refuse or redirect requests');
      return false;
    }
    const { hosts, paths } = narrowed.scope;
    const shown = hosts === null || hosts === scope.hosts ? place : [...place, `(${hosts.join(', ')})`];
    const isNarrower = narrowed.scope !== scope;
    const isOdd = !Array.isArray(handle) || typeof terminal !== 'boolean' || unknownFields(rest, NONE).length > 0;
    if (isOdd) this.#block(hosts, shown, UNEXPECTED);
    else if (isNarrower && state.rewrite !== null) this.#block(hosts, shown, 'the path was changed before');
    else if (isNarrower && 'host' in state.requestHeaders.add) this.#block(hosts, shown, 'its host was changed before');
    const own = isNarrower ? { ...state } : state;
    const isAnswered = Array.isArray(handle) && this.#handlers(handle, narrowed.scope, shown, own);
    if (isAnswered) return !isNarrower;
    // Only the first matching route of a group runs: what follows would answer instead.
    if (group !== null) this.#block(hosts, shown, 'it does not answer, and the rest of its group is not reached');
    else if (isNarrower && own.rewrite !== null) this.#block(hosts, shown, 'it changes the path');
    else if (own.requestHeaders !== state.requestHeaders)
      this.#block(hosts, shown, 'it changes request headers for a part of the requests');
    else if (terminal === true && paths !== null) this.#block(hosts, shown, 'it ends here without an answer');
    else if (terminal === true) this.#close(hosts, shown);
    return false;
  }

  #handlers(handlers: readonly JsonValue[], scope: Scope, place: readonly string[], state: State): boolean {
    let isAnswered = false;
    for (const [index, handler] of handlers.entries()) {
      const name = isJsonObject(handler) ? handler['handler'] : null;
      if (!isJsonObject(handler) || typeof name !== 'string') {
        this.#block(scope.hosts, [...place, 'handle', String(index)], UNEXPECTED);
        continue;
      }
      const at = [...place, 'handle', String(index), name];
      if (isAnswered) this.#report.drop(at, 'not written: an earlier handler answers everything');
      else isAnswered = this.#handler(name, handler, scope, { place: at, state });
    }
    return isAnswered;
  }

  /** Whether it answers. */
  #handler(
    name: string,
    handler: JsonObject,
    scope: Scope,
    { place, state }: { readonly place: readonly string[]; readonly state: State },
  ): boolean {
    const unknown = notUnderstood(name, handler);
    if (unknown !== null) this.#block(scope.hosts, place, unknown);
    const { headers } = handler;
    if (name === 'reverse_proxy' && headers !== undefined) {
      const { request, ...others } = isJsonObject(headers) ? headers : { request: headers };
      const changed = { ...others, request: withoutOwnHeaders(request, handler['upstreams']) ?? null };
      this.#headers(changed, scope, { place: [...place, 'headers'], state });
    }
    if (name === 'subroute') {
      this.#report.dropFields([...place, 'errors'], handler['errors'], 'Postern has no routes for errors');
      return this.read(handler['routes'], scope, place, state);
    }
    if (ANSWERS.includes(name)) {
      this.#answer(name, handler, scope, { place, state });
      return true;
    }
    if (name === 'encode') {
      state.isCompressed = true;
      const { handler: _, ...fields } = handler;
      this.#report.dropFields(place, fields, 'Postern chooses the encoding by itself');
    } else if (name === 'headers') {
      const { handler: _, response, ...others } = handler;
      const { deferred = false, ...operations } = isJsonObject(response) ? response : {};
      // Before the response of a service, Caddy adds to its headers what it sets.
      const isLast = deferred === true && isJsonObject(response);
      this.#headers({ ...others, ...(isLast && { response: operations }) }, scope, { place, state });
      if (!isLast) this.#report.dropFields([...place, 'response'], response, NO_HEADERS);
    } else if (HARMLESS.includes(name)) {
      this.#drop(handler, place, 'Postern has no such handler: do it in your service');
    } else if (name === 'rewrite') {
      state.rewrite = nextRewrite(state.rewrite, handler);
      if (state.rewrite === 'unknown') this.#drop(handler, place, 'Postern has no such rule for paths');
    } else {
      this.#drop(handler, place, isPasswordLogin(name, handler) ? NO_HASHES : 'Postern has no such handler');
      this.#block(scope.hosts, place, `${name} may protect it`);
    }
    return false;
  }

  /** Takes the changes of headers that modules do in the same way. A service may trust request headers. */
  #headers(
    { request, response, ...others }: JsonObject,
    scope: Scope,
    { place, state }: { readonly place: readonly string[]; readonly state: State },
  ): void {
    const own = withoutOwnHeaders(request ?? undefined, undefined);
    const requests = withOperations('request_headers', state.requestHeaders, own);
    if (requests === null || Object.keys(others).length > 0) {
      this.#report.dropFields([...place, 'request'], request, NO_HEADERS);
      this.#report.dropFields(place, others, NO_HEADERS);
      this.#block(scope.hosts, place, 'your service may trust the request headers that it sets or deletes');
    } else state.requestHeaders = requests;
    const responses = withOperations('response_headers', state.responseHeaders, response);
    if (responses === null) this.#report.dropFields([...place, 'response'], response, NO_HEADERS);
    else state.responseHeaders = responses;
  }

  #answer(
    name: string,
    handler: JsonObject,
    scope: Scope,
    { place, state }: { readonly place: readonly string[]; readonly state: State },
  ): void {
    if (scope.hosts === null) {
      this.#drop(handler, place, 'not written: the site has no host name');
      this.#obstacle ??= `${place.join(' > ')} answers before it, for all hosts`;
      return;
    }
    const redirect = state.rewrite === null ? redirectOf(handler) : null;
    const found = redirect === null ? this.#target(name, handler, place) : null;
    for (const host of scope.hosts) {
      if (this.#obstacle !== null) this.#block([host], place, this.#obstacle);
      this.hosts.add(host);
      for (const path of scope.paths ?? [EVERYTHING]) {
        const rewrite = state.rewrite === null ? null : rewriteRule(state.rewrite, path);
        const isLost = state.rewrite !== null && rewrite === null;
        if (isLost && found !== null)
          this.#report.drop(place, `written without a backend (503) for ${path.match}: its rewrite has no such rule`);
        const rule: SiteRule = {
          path,
          target: isLost ? null : found,
          isRefusal: isRefusal(name, handler),
          isCompressed: state.isCompressed,
          requestHeaders: state.requestHeaders,
          responseHeaders: state.responseHeaders,
          ...(rewrite !== null && { rewrite }),
          redirects: redirect === null ? [] : [redirect(path)],
        };
        const problem = this.#sites.add(host, rule);
        if (problem !== null) this.#report.drop(place, `not written for ${host}: ${problem}`);
      }
    }
  }

  #target(name: string, handler: JsonObject, place: readonly string[]): SiteTarget | null {
    if (name === 'reverse_proxy') return proxyTarget(handler, place, this.#report);
    if (name === 'static_response') return responseTarget(handler, place, this.#report);
    this.#drop(handler, place, 'written without a backend (503): forward to a service that does it');
    return null;
  }

  /** Null: every host of the server. */
  #block(hosts: readonly string[] | null, place: readonly string[], why: string): void {
    if (hosts === null) this.#obstacle ??= `${place.join(' > ')}: ${why}`;
    for (const host of hosts ?? this.hosts) {
      this.hosts.add(host);
      if (this.#sites.block(host, why)) {
        this.#report.drop([...place, host], `the whole host is written without a backend (503): ${why}`);
      }
    }
    if (hosts === null) this.#report.drop(place, `no host of this server is served: ${why}`);
  }

  #close(hosts: readonly string[] | null, place: readonly string[]): void {
    if (hosts === null) this.#obstacle ??= `${place.join(' > ')} ends before it, for all hosts`;
    for (const host of hosts ?? []) this.#sites.close(host);
  }

  #drop({ handler: _name, ...fields }: JsonObject, place: readonly string[], why: string): void {
    if (Object.keys(fields).length === 0) this.#report.drop(place, why);
    else this.#report.dropFields(place, fields, why);
  }
}

function isPasswordLogin(name: string, { providers }: JsonObject): boolean {
  return name === 'authentication' && isJsonObject(providers) && providers['http_basic'] !== undefined;
}

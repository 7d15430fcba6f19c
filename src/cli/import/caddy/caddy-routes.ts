import { isJsonObject, type JsonObject, type JsonValue } from '../../../lib/json.ts';
import type { ImportReport } from '../import-report.ts';
import { narrow, type Scope } from './caddy-matchers.ts';
import type { CaddySites, SiteTarget } from './caddy-sites.ts';
import { proxyTarget, responseTarget } from './caddy-targets.ts';

/** What earlier handlers did to the requests that reach a handler. */
interface State {
  isCompressed: boolean;
  /** Why nothing behind it can be written: it may protect what follows, or change the path. */
  obstacle: string | null;
}

/** Handlers that change nothing about who gets which answer. */
const HARMLESS = ['vars', 'headers', 'tracing', 'log_append', 'map', 'copy_response_headers', 'request_body', 'push'];
/** Handlers that answer: nothing behind them is reached. */
const ANSWERS = ['reverse_proxy', 'static_response', 'file_server', 'error', 'abort'];
/** A route with other matchers can be left out if it only answers differently. One that refuses must not be lost. */
const FORWARDS = ['reverse_proxy', 'file_server', 'encode', ...HARMLESS];

/** Reads routes in order, as Caddy runs them. When in doubt a route is reported instead of written. */
export class CaddyRoutes {
  readonly #sites: CaddySites;
  readonly #report: ImportReport;

  constructor(sites: CaddySites, report: ImportReport) {
    this.#sites = sites;
    this.#report = report;
  }

  /** Whether every request of the scope is answered: then nothing goes on to what follows. */
  read(routes: JsonValue | undefined, scope: Scope, place: readonly string[], around?: State): boolean {
    const state: State = around ?? { isCompressed: false, obstacle: null };
    const list = Array.isArray(routes) ? (routes as readonly JsonValue[]).filter(isJsonObject) : [];
    // Only the first matching route of a group runs.
    const inGroups = new Map<JsonValue, State>();
    let isAnswered = false;
    for (const [index, route] of list.entries()) {
      const { group = null, match } = route;
      const before = group === null ? state : (inGroups.get(group) ?? { ...state });
      if (group !== null) inGroups.set(group, { ...before });
      const own = { ...before };
      const isRouteAnswered = this.#route(route, scope, [...place, 'routes', String(index)], own);
      if (isRouteAnswered && match === undefined) isAnswered = true;
      if (isRouteAnswered) continue;
      state.obstacle ??= own.obstacle;
      if (match === undefined) state.isCompressed ||= own.isCompressed;
    }
    return isAnswered;
  }

  /** Whether it answers. What it did otherwise is in the state afterwards, for the routes after it. */
  #route(route: JsonObject, scope: Scope, place: readonly string[], state: State): boolean {
    const { match, handle, terminal: _terminal, group: _group, ...rest } = route;
    for (const [name, value] of Object.entries(rest)) {
      this.#report.dropFields([...place, name], value as JsonValue, 'Postern has no such field');
    }
    const handlers = Array.isArray(handle) ? (handle as readonly JsonValue[]).filter(isJsonObject) : [];
    const narrowed = narrow(scope, match);
    if ('problem' in narrowed) {
      this.#report.drop([...place, 'match'], `not written: ${narrowed.problem}`);
      const refusing = handlersIn(handlers).find((name) => !FORWARDS.includes(name));
      if (refusing !== undefined) {
        state.obstacle ??= `${refusing} of ${place.join(' > ')} may refuse requests, and was not carried over`;
      }
      return false;
    }
    const { hosts } = narrowed.scope;
    const shown = hosts === null || hosts === scope.hosts ? place : [...place, `(${hosts.join(', ')})`];
    return this.#handlers(handlers, narrowed.scope, shown, state);
  }

  #handlers(handlers: readonly JsonObject[], scope: Scope, place: readonly string[], state: State): boolean {
    let isAnswered = false;
    for (const [index, handler] of handlers.entries()) {
      const name = String(handler['handler'] as string);
      const at = [...place, 'handle', String(index), name];
      if (name === 'subroute') {
        if (this.read(handler['routes'], scope, at, state)) isAnswered = true;
      } else if (name === 'encode') {
        state.isCompressed = true;
        const { handler: _, ...fields } = handler;
        this.#report.dropFields(at, fields, 'Postern chooses the encoding by itself');
      } else if (HARMLESS.includes(name)) this.#drop(handler, at, 'Postern has no such handler: do it in your service');
      else if (ANSWERS.includes(name)) {
        isAnswered = true;
        this.#answer(name, handler, scope, at, state);
      } else {
        this.#drop(handler, at, 'Postern has no such handler');
        state.obstacle ??= `${name} may protect it, or change the path`;
      }
    }
    return isAnswered;
  }

  #answer(name: string, handler: JsonObject, scope: Scope, place: readonly string[], state: State): void {
    if (scope.hosts === null) {
      this.#drop(handler, place, 'not written: the site has no host name');
      return;
    }
    const found = this.#target(name, handler, place);
    const target = state.obstacle === null ? found : null;
    if (found !== null && state.obstacle !== null) {
      this.#report.drop(place, `written without a backend (503), because ${state.obstacle}`);
    }
    if (scope.paths !== null) this.#report.note('paths of Caddy ignore case, those of Postern do not');
    for (const host of scope.hosts) {
      for (const path of scope.paths ?? [{ matchType: 'path_prefix', match: '/' } as const]) {
        const isNew = this.#sites.add(host, path, target, state.isCompressed);
        if (!isNew) {
          this.#report.drop(place, `not written: ${host} has a route for ${path.match} already, which comes first`);
        }
      }
    }
  }

  #target(name: string, handler: JsonObject, place: readonly string[]): SiteTarget | null {
    if (name === 'reverse_proxy') return proxyTarget(handler, place, this.#report);
    if (name === 'static_response') return responseTarget(handler, place, this.#report);
    this.#drop(
      handler,
      place,
      'written without a backend (503): Postern serves no files, forward to a service that does',
    );
    return null;
  }

  #drop({ handler: _name, ...fields }: JsonObject, place: readonly string[], why: string): void {
    if (Object.keys(fields).length === 0) this.#report.drop(place, why);
    else this.#report.dropFields(place, fields, why);
  }
}

/** Names of all handlers, inside subroutes too. */
function handlersIn(handlers: readonly JsonObject[]): readonly string[] {
  return handlers.flatMap((handler) => {
    if (handler['handler'] !== 'subroute') return [String(handler['handler'] as string)];
    const routes = Array.isArray(handler['routes'])
      ? (handler['routes'] as readonly JsonValue[]).filter(isJsonObject)
      : [];
    return routes.flatMap(({ handle }) =>
      handlersIn(Array.isArray(handle) ? (handle as readonly JsonValue[]).filter(isJsonObject) : []),
    );
  });
}

import { matchKey } from '../lib/http/match-key.ts';
import { AccessGuard } from './access-guard.ts';
import { type AmbiguousPaths, REFUSED_EVERYWHERE } from './ambiguous-paths.ts';
import type { CanonicalPath } from './canonical-path.ts';

export interface MatchableRoute {
  readonly matchType: 'exact_path' | 'path_prefix';
  readonly match: string;
  /** Equal for routes whose access modules are configured identically. */
  readonly access: string;
}

export type RouteMatch<Route> =
  | { readonly found: Route }
  | { readonly found: null; readonly reason: 'none' | 'ambiguous' | 'other_access' };

/** Routes of one edge: an exact path beats a prefix, the longest prefix wins. */
export class RouteTable<Route extends MatchableRoute> {
  readonly all: readonly Route[];
  readonly #exact = new Map<string, Route>();
  /** Longest first. */
  readonly #prefixes: readonly { readonly key: string; readonly route: Route }[];
  readonly #anything: Route | null;
  /** Null where nothing needs guarding. */
  readonly #guard: AccessGuard<Route> | null;
  readonly #ambiguous: AmbiguousPaths;

  /** `hosts` are the patterns of the edge. */
  constructor(routes: readonly Route[], hosts: readonly string[] = [], ambiguous = REFUSED_EVERYWHERE) {
    const prefixes: { key: string; route: Route }[] = [];
    let anything: Route | null = null;
    for (const route of routes) {
      const key = matchKey(route.match);
      if (route.matchType === 'exact_path') this.#exact.set(key, route);
      else if (key === '/') anything = route;
      else prefixes.push({ key, route });
    }
    this.#prefixes = prefixes.sort((a, b) => b.key.length - a.key.length);
    this.#anything = anything;
    this.#guard = hosts.length > 0 && ambiguous.passOnAll(hosts) ? null : AccessGuard.over(routes);
    this.#ambiguous = ambiguous;
    this.all = routes;
  }

  /** A path that an upstream could read as another route's is rejected rather than guessed. */
  match(path: CanonicalPath, host: string): RouteMatch<Route> {
    const found = this.#find(path.key);
    if (path.otherKeys.some((key) => this.#find(key) !== found)) return { found: null, reason: 'ambiguous' };
    if (found === null) return { found, reason: 'none' };
    const isAmbiguous = this.#guard?.isAmbiguous(path.key, found) === true && !this.#ambiguous.passOn(host);
    return isAmbiguous ? { found: null, reason: 'other_access' } : { found };
  }

  /** The routes that some reading of a path leads to; null: it is ambiguous, or has too many readings. */
  reachedBy(path: CanonicalPath, host: string): ReadonlySet<Route> | null {
    const keys = [path.key, ...path.otherKeys];
    const found = new Set(keys.map((key) => this.#find(key)));
    if (found.size > 1) return null;
    const guard = this.#ambiguous.passOn(host) ? null : this.#guard;
    const reached = guard?.reachedBy(path.key) ?? (guard === null ? [] : null);
    return reached === null ? null : new Set([...found, ...reached].filter((route) => route !== null));
  }

  #find(key: string): Route | null {
    const exact = this.#exact.get(key);
    if (exact !== undefined) return exact;
    for (const { key: prefix, route } of this.#prefixes) if (key.startsWith(prefix)) return route;
    return this.#anything;
  }
}

import { type CanonicalPath, matchKey } from './canonical-path.ts';

export interface MatchableRoute {
  readonly matchType: 'exact_path' | 'path_prefix';
  readonly match: string;
}

export type RouteMatch<Route> =
  | { readonly found: Route }
  | { readonly found: null; readonly why: 'none' | 'ambiguous' };

/** Routes of one edge: an exact path beats a prefix, the longest prefix wins. */
export class RouteTable<Route extends MatchableRoute> {
  readonly all: readonly Route[];
  readonly #exact = new Map<string, Route>();
  /** Longest first. */
  readonly #prefixes: readonly { readonly key: string; readonly route: Route }[];
  readonly #anything: Route | null;

  constructor(routes: readonly Route[]) {
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
    this.all = routes;
  }

  /** A path that an upstream could read as another route's is refused rather than guessed. */
  match(path: CanonicalPath): RouteMatch<Route> {
    const found = this.#find(path.key);
    if (path.otherKeys.some((key) => this.#find(key) !== found)) return { found: null, why: 'ambiguous' };
    return found === null ? { found, why: 'none' } : { found };
  }

  #find(key: string): Route | null {
    const exact = this.#exact.get(key);
    if (exact !== undefined) return exact;
    for (const { key: prefix, route } of this.#prefixes) if (key.startsWith(prefix)) return route;
    return this.#anything;
  }
}

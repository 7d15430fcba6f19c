import { matchKey } from './canonical-path.ts';
import { foldPath } from './fold-path.ts';
import { hasOneReading, readingsOf } from './path-readings.ts';
import type { MatchableRoute } from './route-table.ts';

/**
 * Keeps a request from reaching a protected page under a spelling that an open route matches: upstreams ignore case, trailing
 * slashes and more (docs/routes.md). Every reading of a path, folded, leads to routes whose folded paths match it; unless all of
 * them have the access rules of the route that was found, the path is ambiguous. So all spellings of one page that pass have
 * passed the same rules.
 */
export class AccessGuard<Route extends MatchableRoute> {
  /** By folded path without a trailing slash. Where there are exact ones, only these: they beat prefixes. */
  readonly #named = new Map<string, readonly Route[]>();
  /** Longest first. */
  readonly #prefixes: readonly { readonly key: string; readonly routes: readonly Route[] }[];
  /** Folding and trailing slashes make no difference to the routes themselves. */
  readonly #isPlain: boolean;

  /** Null where all routes have the same access rules: there is nothing to guard. */
  static over<Route extends MatchableRoute>(routes: readonly Route[]): AccessGuard<Route> | null {
    return routes.every(({ access }) => access === routes[0]?.access) ? null : new AccessGuard(routes);
  }

  private constructor(routes: readonly Route[]) {
    const prefixes = new Map<string, Route[]>();
    const named = Map.groupBy(routes, ({ match }) => withoutSlash(foldPath(matchKey(match))));
    for (const [key, group] of named) {
      const exact = group.filter(({ matchType }) => matchType === 'exact_path');
      this.#named.set(key, exact.length > 0 ? exact : group);
    }
    for (const route of routes) {
      if (route.matchType !== 'path_prefix') continue;
      const key = foldPath(matchKey(route.match));
      prefixes.set(key, [...(prefixes.get(key) ?? []), route]);
    }
    this.#prefixes = [...prefixes].map(([key, group]) => ({ key, routes: group })).sort(longestFirst);
    this.#isPlain = routes.every(({ match }) => {
      const key = matchKey(match);
      return foldPath(key) === key && (key === '/' || !key.endsWith('/'));
    });
  }

  /** Whether some reading of the key leads to a route with other access rules than the one that was found for it. */
  isAmbiguous(key: string, found: Route): boolean {
    if (hasOneReading(key)) {
      const folded = foldPath(key);
      const isPlain = this.#isPlain && folded === key && !key.endsWith('/');
      return !isPlain && this.#leadsElsewhere(folded, found);
    }
    const readings = readingsOf(key);
    if (readings === null) return true;
    for (const reading of readings) if (this.#leadsElsewhere(foldPath(reading), found)) return true;
    return false;
  }

  #leadsElsewhere(folded: string, { access }: Route): boolean {
    const routes = this.#named.get(withoutSlash(folded)) ?? this.#longestPrefix(folded);
    return routes.some((route) => route.access !== access);
  }

  #longestPrefix(folded: string): readonly Route[] {
    return this.#prefixes.find(({ key }) => folded.startsWith(key))?.routes ?? [];
  }
}

function withoutSlash(key: string): string {
  let end = key.length;
  while (end > 1 && key[end - 1] === '/') end -= 1;
  return key.slice(0, end);
}

function longestFirst(a: { readonly key: string }, b: { readonly key: string }): number {
  return b.key.length - a.key.length;
}

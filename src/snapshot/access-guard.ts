import { matchKey } from '../lib/http/match-key.ts';
import { foldingsOf } from './fold-path.ts';
import { hasOneReading, readingsOf } from './path-readings.ts';
import { RouteNames } from './route-names.ts';
import type { MatchableRoute } from './route-table.ts';

const LINE_END = /[\r\n]/;
const CLIMBS = /(?:^|\/)\.\.(?:\/|$)/;

/** Whether a reading has a ".." segment: where it leads depends on what the upstream takes for the root. */
export function climbs(reading: string): boolean {
  return CLIMBS.test(reading);
}

/**
 * Prevents a request from reaching a protected page under a spelling that an open route matches: upstreams ignore case,
 * trailing slashes and more (docs/reference/routes.md). Every reading of a path leads to the routes that it matches as it stands
 * and folded, and to those that equal it except for a trailing slash. Unless all of them have the access rules of the
 * matched route, the path is ambiguous. So all accepted spellings of one page have passed the same rules, which are
 * those of the page itself.
 */
export class AccessGuard<Route extends MatchableRoute> {
  readonly #asWritten: RouteNames<Route>;
  readonly #folded: RouteNames<Route>;
  /** Folding and trailing slashes make no difference to the routes themselves. */
  readonly #isPlain: boolean;

  /** For the readings of odd paths: see `RouteTable.match`. */
  static overAny<Route extends MatchableRoute>(routes: readonly Route[]): AccessGuard<Route> {
    return new AccessGuard(routes);
  }

  /** Null where all routes have the same access rules: nothing needs guarding. */
  static over<Route extends MatchableRoute>(routes: readonly Route[]): AccessGuard<Route> | null {
    return routes.every(({ access }) => access === routes[0]?.access) ? null : new AccessGuard(routes);
  }

  private constructor(routes: readonly Route[]) {
    this.#asWritten = new RouteNames(routes, (key) => [key]);
    this.#folded = new RouteNames(routes, foldingsOf);
    this.#isPlain = routes.every(({ match }) => {
      const key = matchKey(match);
      return foldingsOf(key).every((folding) => folding === key) && (key === '/' || !key.endsWith('/'));
    });
  }

  /** Whether some reading of the key leads to a route with other access rules than the matched one. */
  isAmbiguous(key: string, found: Route): boolean {
    if (hasOneReading(key)) {
      const isPlain = this.#isPlain && key === key.toLowerCase() && !key.endsWith('/');
      return !isPlain && this.#leadsElsewhere(key, found);
    }
    const readings = readingsOf(key);
    if (readings === null) return true;
    for (const reading of readings) if (this.#leadsElsewhere(reading, found)) return true;
    return false;
  }

  /** The routes that one reading leads to, as it stands, folded, and without a trailing slash. */
  reachedByReading(reading: string): readonly Route[] {
    const routes = [...this.#asWritten.matching(reading)];
    for (const folding of foldingsOf(reading)) {
      routes.push(...this.#folded.matching(folding), ...this.#folded.named(folding));
    }
    return routes;
  }

  /** The routes that some reading of the key leads to; null: it has too many readings. */
  reachedBy(key: string): readonly Route[] | null {
    const readings = readingsOf(key);
    return readings === null ? null : [...readings].flatMap((reading) => this.reachedByReading(reading));
  }

  /**
   * A reading without a route also counts: nobody may reach its page, under any rules. So does one that climbs, and one
   * with a line end: an upstream that forwards it decoded sends a second request, for any page (CRLF injection).
   */
  #leadsElsewhere(reading: string, { access }: Route): boolean {
    if (climbs(reading) || LINE_END.test(reading)) return true;
    const routes = this.reachedByReading(reading);
    return routes.length === 0 || routes.some((route) => route.access !== access);
  }
}

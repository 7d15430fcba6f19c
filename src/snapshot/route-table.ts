import { matchKey } from '../lib/http/match-key.ts';
import { AccessGuard, climbs } from './access-guard.ts';
import { type AmbiguousPaths, REFUSED_EVERYWHERE } from './ambiguous-paths.ts';
import type { CanonicalPath } from './canonical-path.ts';
import { foldingsOf } from './fold-path.ts';
import { readingsOf } from './path-readings.ts';

export interface MatchableRoute {
  readonly matchType: 'exact_path' | 'path_prefix';
  readonly match: string;
  /** Equal for routes whose access modules are configured identically. */
  readonly access: string;
  /** What reads the paths of its requests, such as `rewrite rules[0] path_prefix /old/`; null: nothing does. */
  readonly pathReader: string | null;
}

export type RouteMatch<Route> = { readonly found: Route } | Unmatched;

export type Unmatched =
  | { readonly found: null; readonly reason: 'none' | 'ambiguous' | 'other_access' }
  /** An odd path whose readings all lead to one route, where something reads paths. */
  | { readonly found: null; readonly reason: 'strict'; readonly pathReader: string };

/** As received. Every site can be asked for odd paths: at 32 KB, escapes or not, the readings of one take ten milliseconds. */
const MAX_ODD_LENGTH = 8_192;
const AMBIGUOUS: Unmatched = { found: null, reason: 'ambiguous' };
/** Below them, the edge serves pages of modules and answers challenges of ACME servers. */
const OWN_PATHS = ['/.postern', '/.well-known/acme-challenge'];

function isBelowOwnPath(reading: string): boolean {
  return foldingsOf(reading).some((folding) =>
    OWN_PATHS.some((own) => folding.startsWith(own) && (folding.length === own.length || folding[own.length] === '/')),
  );
}

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
  /** Made for the first odd path: most sites never get one. */
  #reach: AccessGuard<Route> | null = null;

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
    if (path.odd !== null) return this.#matchOdd(path, host);
    const found = this.#find(path.key);
    if (path.otherKeys.some((key) => this.#find(key) !== found)) return { found: null, reason: 'ambiguous' };
    if (found === null) return { found, reason: 'none' };
    const isAmbiguous = this.#guard?.isAmbiguous(path.key, found) === true && !this.#ambiguous.passOn(host);
    return isAmbiguous ? { found: null, reason: 'other_access' } : { found };
  }

  /**
   * Applications have URLs with empty segments, escaped slashes and the like, which must reach them byte for byte. They
   * pass where it makes no difference how they are read: all readings lead to the same route, none leaves it or lies
   * below a path of the edge itself, and nothing on the route reads paths.
   */
  #matchOdd({ path, key }: CanonicalPath, host: string): RouteMatch<Route> {
    const found = this.#find(key);
    const readings = path.length > MAX_ODD_LENGTH ? null : readingsOf(key);
    const isLiteral = this.#ambiguous.passOn(host);
    for (const reading of readings ?? []) {
      const isSame = this.#find(reading) === found && !climbs(reading) && !isBelowOwnPath(reading);
      if (!isSame || !(isLiteral || this.#staysOn(reading, found))) return AMBIGUOUS;
    }
    if (readings === null) return AMBIGUOUS;
    if (found === null) return { found, reason: 'none' };
    if (!isLiteral && this.#guard?.isAmbiguous(key, found) === true) return { found: null, reason: 'other_access' };
    return found.pathReader === null ? { found } : { found: null, reason: 'strict', pathReader: found.pathReader };
  }

  #staysOn(reading: string, found: Route | null): boolean {
    if (this.all.length === 1 && this.#anything !== null) return true;
    this.#reach ??= AccessGuard.overAny(this.all);
    return this.#reach.reachedByReading(reading).every((route) => route === found);
  }

  /** The routes that some reading of a path leads to; null: it is ambiguous, or has too many readings. */
  reachedBy(path: CanonicalPath, host: string): ReadonlySet<Route> | null {
    if (path.odd !== null) return null;
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

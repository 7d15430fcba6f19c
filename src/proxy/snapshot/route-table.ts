import { type CanonicalPath, foldingsOf } from '../../kit/http/canonical-path.ts';
import { matchKey } from '../../kit/http/urls.ts';
import { HostTable } from './host-table.ts';
import { hasOneReading, readingsOf } from './path-readings.ts';

/** Spellings that find a route. */
type Spell = (key: string) => readonly string[];

/** Routes by names that several of them may share: an exact path beats prefixes, the longest prefix wins. */
class RouteNames<Route extends MatchableRoute> {
  readonly #exact = new Map<string, Route[]>();
  /** Longest first. */
  readonly #prefixes: readonly (readonly [string, readonly Route[]])[];
  /** By name without a trailing slash. */
  readonly #named = new Map<string, readonly Route[]>();

  constructor(routes: readonly Route[], spell: Spell) {
    const prefixes = new Map<string, Route[]>();
    const named = new Map<string, Route[]>();
    for (const route of routes) {
      const ofItsType = route.matchType === 'exact_path' ? this.#exact : prefixes;
      for (const name of new Set(spell(matchKey(route.match)))) {
        add(ofItsType, name, route);
        add(named, withoutSlash(name), route);
      }
    }
    this.#prefixes = [...prefixes].sort(([a], [b]) => b.length - a.length);
    for (const [name, group] of named) {
      const exact = group.filter(({ matchType }) => matchType === 'exact_path');
      this.#named.set(name, exact.length > 0 ? exact : group);
    }
  }

  /** The routes that match a path. */
  matching(path: string): readonly Route[] {
    return this.#exact.get(path) ?? this.#prefixes.find(([name]) => path.startsWith(name))?.[1] ?? [];
  }

  /** The routes with this name, ignoring a trailing slash: the exact ones, otherwise the prefixes. */
  named(path: string): readonly Route[] {
    return this.#named.get(withoutSlash(path)) ?? [];
  }
}

function add<Route>(groups: Map<string, Route[]>, name: string, route: Route): void {
  const group = groups.get(name);
  if (group === undefined) groups.set(name, [route]);
  else group.push(route);
}

function withoutSlash(key: string): string {
  let end = key.length;
  while (end > 1 && key[end - 1] === '/') end -= 1;
  return key.slice(0, end);
}

const LINE_END = /[\r\n]/;
const CLIMBS = /(?:^|\/)\.\.(?:\/|$)/;

/** Whether a reading has a ".." segment: where it leads depends on what the upstream takes for the root. */
function climbs(reading: string): boolean {
  return CLIMBS.test(reading);
}

/**
 * Prevents a request from reaching a protected page under a spelling that an open route matches: upstreams ignore case,
 * trailing slashes and more (docs/reference/routes.md). Every reading of a path leads to the routes that it matches as
 * it stands and folded, and to those that equal it except for a trailing slash. Unless all of them have the access
 * rules of the matched route, the path is ambiguous. So all accepted spellings of one page have passed the same rules,
 * which are those of the page itself.
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

/** The hosts on which ambiguous paths are allowed: the settings `ambiguous_paths` and `ambiguous_paths_pass_hosts`. */
export class AmbiguousPaths {
  readonly #passesEverywhere: boolean;
  readonly #patterns: ReadonlySet<string>;
  readonly #hosts = new HostTable<true>();

  constructor(mode: 'refuse' | 'pass' = 'refuse', passHosts: readonly string[] = []) {
    this.#passesEverywhere = mode === 'pass';
    this.#patterns = new Set(passHosts);
    for (const pattern of passHosts) this.#hosts.set(pattern, true);
  }

  /** Whether they are allowed on every host of an edge with these patterns. */
  passOnAll(patterns: readonly string[]): boolean {
    return this.#passesEverywhere || patterns.every((pattern) => this.#patterns.has(pattern));
  }

  passOn(host: string): boolean {
    return this.#passesEverywhere || this.#hosts.find(host) !== undefined;
  }
}

const REFUSED_EVERYWHERE = new AmbiguousPaths();

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

/**
 * As received. Every site can be asked for odd paths: at 32 KB, escapes or not, the readings of one take ten
 * milliseconds.
 */
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

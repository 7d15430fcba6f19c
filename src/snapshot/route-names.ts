import { matchKey } from '../lib/http/match-key.ts';
import type { MatchableRoute } from './route-table.ts';

/** Spellings that find a route. */
type Spell = (key: string) => readonly string[];

/** Routes by names that several of them may share: an exact path beats prefixes, the longest prefix wins. */
export class RouteNames<Route extends MatchableRoute> {
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

import type { HeaderList } from '../../lib/http/header-list.ts';
import type { PassedBy } from './recorded-request.ts';

type Passes = readonly (string | PassedBy)[];

/** A power of two. */
const HEADER_PLACES = 256;
const MAX_ROUTES = 1_024;
const NONE: HeaderList = [];

/**
 * One list for many requests whose lists are the same. Most requests of a route have the same decisions, and most
 * browsers send one of a few user agents: without sharing, the history would keep a list and a text for each request.
 */
export class SharedLists {
  readonly #headers: HeaderList[] = new Array<HeaderList>(HEADER_PLACES).fill(NONE);
  readonly #passes = new Map<string, Passes>();

  headers(headers: HeaderList): HeaderList {
    const value = headers[1];
    if (value === undefined || value === '') return headers;
    const place = placeOf(value);
    const known = this.#headers[place] as HeaderList;
    if (areSame(known, headers)) return known;
    this.#headers[place] = headers;
    return headers;
  }

  passes(routeId: string | null, passes: Passes): Passes {
    if (routeId === null || passes.length === 0) return passes;
    const known = this.#passes.get(routeId);
    if (known !== undefined && areSame(known, passes)) return known;
    if (this.#passes.size >= MAX_ROUTES) this.#passes.clear();
    this.#passes.set(routeId, passes);
    return passes;
  }
}

/** From its length and three characters: a hash of all characters takes longer than the comparison that follows. */
function placeOf(text: string): number {
  const { length } = text;
  const characters = text.charCodeAt(length - 1) * 31 + text.charCodeAt(length >> 1) * 7 + text.charCodeAt(length >> 2);
  return (characters + length * 131) & (HEADER_PLACES - 1);
}

/** Identity suffices for the modules' answers: they are made once per configuration. */
function areSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  let isSame = one.length === other.length;
  for (let at = 0; isSame && at < one.length; at += 1) isSame = one[at] === other[at];
  return isSame;
}

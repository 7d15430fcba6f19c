import type { HeaderList } from '../../lib/http/header-list.ts';
import type { Refusal } from './decides.ts';
import type { PreparedModule } from './prepared-module.ts';
import type { TrafficRequest } from './traffic-request.ts';

/** A capability: serves paths under `/.postern/` itself, and sets cookies there. */
export interface ServesPaths {
  /** Serves the declared paths on every host of its edge. */
  readonly ownPaths?: OwnPaths;
  /** Cookies that it sets on every host of its edge, in lower case: no backend there may set them. */
  readonly ownCookieNames?: readonly string[];
}

/** What such a module declares. */
export interface DeclaresPaths {
  /** Paths under `/.postern/` that it serves on the hosts where it is enabled. */
  readonly ownPaths?: readonly string[];
  /** Those whose requests carry secrets: on hosts where no module serves them, they are rejected and not forwarded. */
  readonly secretPaths?: readonly string[];
  /** Names of its cookies that are the same on every host, in lower case, or prefixes that end in `*`: no upstream may set them. */
  readonly reservedCookies?: readonly string[];
}

/** Paths that a module serves itself, such as the callback of a login. */
export interface OwnPaths {
  serve(request: OwnPathRequest, site: OwnPathSite): OwnAnswer | Promise<OwnAnswer>;
}

export interface OwnPathRequest extends TrafficRequest {
  /** The body, or null when it is longer than `maxBytes`. */
  readBody(maxBytes: number): Promise<Buffer | null>;
}

/** The edge around a request for an own path. */
export interface OwnPathSite {
  /** Modules that serve own paths, of the routes whose earlier modules admitted this request. */
  readonly modules: readonly PreparedModule[];
  /** The module of this kind on the route of a path with query. */
  moduleFor(target: string): { readonly found: PreparedModule | null } | { readonly refusal: Refusal };
}

export type OwnAnswer =
  | { readonly status: number; readonly headers: HeaderList; readonly body: string }
  | { readonly refusal: Refusal };

/** Prefix of the value of every own cookie, so that they are kept from upstreams under any name. */
export const OWN_COOKIE_MARK = 'pstn1.';

import type { Transform } from 'node:stream';
import type { HeaderList } from '../../kit/http/header-values.ts';
import type { Decides, RecognizesRequesters, Refusal, RequiresTls, TrafficRequest } from './decides.ts';

/**
 * A module prepared for traffic: the hooks of the capabilities that it has. Each hook is optional, and absent hooks
 * cost nothing. One per route, version of the configuration and thread; it is dropped when the configuration changes.
 */
export interface PreparedModule
  extends Decides,
    ChangesRequests,
    ChangesResponses,
    LearnsOutcomes,
    ServesPaths,
    RecognizesRequesters,
    SelectsBackend,
    RequiresTls {}

/** A capability, of the module that names the backend of a route. */
interface SelectsBackend {
  /** Id of the backend, of any kind, that receives the requests. Read when the route is compiled. */
  readonly backendId?: string;
}

/** A capability: serves paths under `/.postern/` itself, and sets cookies there. */
interface ServesPaths {
  /** Serves the declared paths on every host of its edge. */
  readonly ownPaths?: OwnPaths;
  /** Cookies that it sets on every host of its edge, in lower case: no backend there may set them. */
  readonly ownCookieNames?: readonly string[];
}

/** What such a module declares. */
export interface DeclaresPaths {
  /** Paths under `/.postern/` that it serves on the hosts where it is enabled. */
  readonly ownPaths?: readonly string[];
  /**
   * Own paths whose requests carry secrets: on hosts where no module serves them, they are rejected and not forwarded.
   */
  readonly secretPaths?: readonly string[];
  /**
   * Names of its cookies that are the same on every host, in lower case, or prefixes that end in `*`: no upstream may
   * set them.
   */
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

/** A capability: changes requests on their way to the upstream, after every module has admitted them. */
interface ChangesRequests {
  /**
   * Headers for the upstream, after client headers of the same names were removed. Return the same list as long as its
   * content is the same: it is checked and serialized once. Called for every attempt at a target.
   */
  upstreamHeaders?(request: TrafficRequest): HeaderList;
  /**
   * Changes a request; null forwards it unchanged. Called once per request, in registry order, and by `explain` for
   * requests that nobody sent. `headers` are the client's end-to-end headers with the changes of earlier modules.
   * Return the same change as long as its content is the same: it is checked once.
   */
  transformRequest?(
    request: TrafficRequest,
    headers: HeaderList,
  ): RequestTransform | null | Promise<RequestTransform | null>;
}

/** What a module declares whose headers upstreams trust. */
export interface DeclaresRequestChanges {
  /**
   * Request headers that upstreams trust because the module sends them: names in lower case, or prefixes that end in
   * `*`. The edge drops them from the requests of all clients, on every host. Names that start with `postern-` are
   * always reserved.
   */
  readonly reservedHeaders?: readonly string[];
}

/** A change of headers, a rejection, or a request to read the body first. */
export type RequestTransform = HeaderChange | { readonly refusal: Refusal } | BodyDemand;

/**
 * Names are in lower case. A module that names hop-by-hop or framing headers, or a name that belongs to the edge or to
 * another module, has a bug: the request gets 500 and is not forwarded.
 */
export interface HeaderChange {
  /** Names to remove, also from the trailers. They may be those of `X-Forwarded-For` and others that the edge adds. */
  readonly remove?: readonly string[];
  /** Replaces every line of the same name. */
  readonly set?: HeaderList;
  /** Added after the lines of the same name. */
  readonly add?: HeaderList;
  /**
   * Path and query for the upstream in place of those that the client sent. They are read like received ones: an
   * invalid or ambiguous path is rejected, and so is one that leads to a page behind other access modules.
   */
  readonly target?: string;
  /** Host and port that the upstream gets in place of those that the client sent. */
  readonly host?: string;
}

/** Holds a request back until its whole body is in memory. The bytes are then forwarded unchanged. */
export interface BodyDemand {
  readonly maxBytes: number;
  /** Whether a longer body is rejected with 413, or forwarded, with null for `read`. Absent: rejected. */
  readonly whenLonger?: 'refuse' | 'forward';
  /** Empty for a request without a body. */
  read(body: Buffer | null): BodyVerdict | Promise<BodyVerdict>;
}

type BodyVerdict = HeaderChange | { readonly refusal: Refusal } | null;

/** A capability: changes responses on their way to the client. */
interface ChangesResponses {
  /**
   * Changes a response; null leaves it unchanged. A response passes the modules in reverse registry order: the last
   * module is nearest to the upstream. Each module gets the head that the one before has returned.
   */
  transform?(request: TrafficRequest, head: TrafficResponseHead): ResponseTransform | null;
  /** Changes the headers of 1xx responses, such as early hints. Only with `transform`, and in the same order. */
  informational?(headers: HeaderList): HeaderList;
}

export interface TrafficResponseHead {
  readonly status: number;
  readonly headers: HeaderList;
  /** 0 for a response without a body (HEAD, 204, 304). Null when unknown: also after a module has changed the body. */
  readonly bodyBytes: number | null;
  /**
   * The body itself, where it is the same object for every request until the configuration changes: derived data may be
   * cached.
   */
  readonly fixedBody?: Buffer;
}

export interface ResponseTransform {
  /** The changed head, without framing: the edge computes that. */
  readonly headers: HeaderList;
  /**
   * Transforms the body. Null when only the head changes. Not called for a response without a body (HEAD, 204, 304);
   * its head then announces no length.
   */
  readonly createStream: (() => Transform) | null;
  /**
   * The same in one call, for bodies of known length where that is cheaper: used when the whole body arrives in time
   * and every module that changes the body offers it.
   */
  whole?(body: Buffer): Buffer;
  /** The changed trailers; absent: unchanged. Trailers are sent only after a head that announces no length. */
  trailers?(trailers: HeaderList): HeaderList;
}

/** A capability: learns how the backend served the requests of a route. */
interface LearnsOutcomes {
  /**
   * Called once for each request that a visitor sent to the route, as soon as its outcome is known: at the head of a
   * response of 500 or more and of a switch to another protocol, otherwise at the end of the response. A response that
   * still runs ten seconds after its head has been served. If a request starts again, because the configuration changed
   * while a module decided, only the hooks of the last version learn it.
   */
  settled?(request: TrafficRequest, outcome: BackendOutcome): void;
}

/**
 * | outcome | what happened |
 * |---|---|
 * | `served` | the backend has sent a response with a status below 500, and all of it |
 * | `server_error` | the backend has sent a status of 500 or more |
 * | `failed` | the backend could not be reached, sent no valid response, or broke it off |
 * | `none` | nothing is known: the visitor left or sent a broken request, a module or the edge itself answered, or the request was cut |
 */
export type BackendOutcome = 'served' | 'server_error' | 'failed' | 'none';

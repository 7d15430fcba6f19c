import type { HeaderList } from '../../lib/http/header-list.ts';
import type { Refusal } from './decides.ts';
import type { TrafficRequest } from './traffic-request.ts';

/** A capability: changes requests on their way to the upstream, after every module has admitted them. */
export interface ChangesRequests {
  /**
   * Headers for the upstream, after client headers of the same names were removed. Return the same list as long as its
   * content is the same: it is checked and serialized once. Called for every attempt at a target.
   */
  upstreamHeaders?(request: TrafficRequest): HeaderList;
  /**
   * Changes a request; null forwards it unchanged. Called once per request, in registry order, and by `explain` for
   * requests that nobody sent. `headers` are the client's end-to-end headers with the changes of earlier modules. Return
   * the same change as long as its content is the same: it is checked once.
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
   * Path and query for the upstream in place of those that the client sent. They are read like received ones: an invalid
   * or ambiguous path is rejected, and so is one that leads to a page behind other access modules.
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

export type BodyVerdict = HeaderChange | { readonly refusal: Refusal } | null;

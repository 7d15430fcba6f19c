// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Series {
  /** Seconds of a step. */
  readonly step: number;
  /** One for each step, oldest first; the last one is not complete. */
  readonly points: readonly {
    /** Start of the step. */
    readonly at: string;
    /** Number of requests that finished. */
    readonly requests: number;
    /** Number of these with a status of 500 or above. */
    readonly errors: number;
    /** Bytes of request bodies. */
    readonly bytes_in: number;
    /** Bytes of response bodies. */
    readonly bytes_out: number;
    /** Half of the requests took at most this long, in milliseconds; null without a request. */
    readonly p50_ms: number | null;
    /** The same for 95 % of the requests. */
    readonly p95_ms: number | null;
  }[];
  /** The nodes that were asked. */
  readonly nodes: readonly {
    /** Name of the node. */
    readonly name: string;
    /** Whether it answered: otherwise its traffic is missing. */
    readonly answered: boolean;
    /** Why it did not answer. */
    readonly problem?: string | undefined;
  }[];
}

export interface SeriesQuery extends PageQuery {
  /** Only steps from this time on. Default: an hour or a day ago. */
  readonly from?: string | undefined;
  /** Seconds of a step. Default: 10. */
  readonly step?: '10' | '60' | undefined;
  /** Only traffic of this route, if it is among the 500 busiest. An id: "edghtsrt_" and 27 letters and digits. */
  readonly route?: string | undefined;
}

export interface SeriesRoutesAnswer {
  /** The busiest first. */
  readonly routes: readonly {
    /** The route; null for the endpoint of an agent. */
    readonly route: Ref | null;
    /** The edge, or the endpoint of an agent. */
    readonly edge: Ref;
    /** Number of requests that finished. */
    readonly requests: number;
    /** Number of these with a status of 500 or above. */
    readonly errors: number;
    /** Bytes of request bodies. */
    readonly bytes_in: number;
    /** Bytes of response bodies. */
    readonly bytes_out: number;
    /** Half of the requests took at most this long, in milliseconds; null without a request. */
    readonly p50_ms: number | null;
    /** The same for 95 % of the requests. */
    readonly p95_ms: number | null;
  }[];
  /** The nodes that were asked. */
  readonly nodes: readonly {
    /** Name of the node. */
    readonly name: string;
    /** Whether it answered: otherwise its traffic is missing. */
    readonly answered: boolean;
    /** Why it did not answer. */
    readonly problem?: string | undefined;
  }[];
}

/** Requests, errors, bytes and latency over time. */
export class SeriesClient extends ResourceClient {
  /**
   * Get traffic over time. Traffic of all nodes, or of one route, in steps of ten seconds for the last hour or of
   * a minute for the last day. Each node keeps it in memory: it is lost when the node stops. Latencies of several
   * nodes are averaged by requests.
   */
  get(query?: SeriesQuery, options?: RequestOptions): Promise<Answer<Series>> {
    return this.call({ method: 'GET', path: '/series', query }, options);
  }

  /**
   * List the busiest routes. The routes with the most requests, of all nodes, within the last hour. Each node
   * counts its 500 busiest.
   */
  routes(query?: PageQuery, options?: RequestOptions): Promise<Answer<SeriesRoutesAnswer>> {
    return this.call({ method: 'GET', path: '/series/routes', query }, options);
  }
}

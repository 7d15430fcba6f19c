// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface Request {
  /** Id of the request: the value of Postern-Request-Id in its response. */
  readonly id: string;
  /** When the request started. */
  readonly at: string;
  /** Name of the node that served it. */
  readonly node: string;
  /** Method; null if no request could be read. */
  readonly method: string | null;
  /**
   * Host without the port; null if no request could be read. A name that no site has is known from the TLS
   * handshake alone.
   */
  readonly host: string | null;
  /** Path without the query, truncated at 1,024 characters. */
  readonly path: string | null;
  /** The query, with the setting request_history_query. */
  readonly query?: string | undefined;
  /** Status of the response; 0 if there was none: the client left before it, or its TLS handshake named no site. */
  readonly status: number;
  /** Error code, for a response of the edge itself. */
  readonly error_code?: string | undefined;
  /** Module and reason that ended the request early. */
  readonly refused_by?: string | undefined;
  /** Module and reason of a redirect. */
  readonly answered_by?: string | undefined;
  /** The edge, or the endpoint of an agent; null if no route matched. */
  readonly edge: Ref | null;
  /** The route; null if none matched, and for the endpoint of an agent. */
  readonly route: Ref | null;
  /** IP address of the client. */
  readonly client_address: string;
  /** Id of the person, service account or guest link, or the subject of a workload. */
  readonly user?: string | undefined;
  /** "user", "service_account", "workload" or "guest". */
  readonly user_kind?: string | undefined;
  /** The User-Agent header, truncated at 512 characters. */
  readonly user_agent?: string | undefined;
  /** Other headers that the setting request_history_headers lists. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds from the head of the request to the end of the response. */
  readonly duration_ms: number;
  /** Bytes of the request body. */
  readonly bytes_in: number;
  /** Bytes of the response body. */
  readonly bytes_out: number;
  /** What each module decided, in the order in which they were asked. */
  readonly decisions: readonly {
    /** The module; "edge", "backend" or "client" if no module ended the request. */
    readonly module: string;
    /** What it decided; answer: it redirected the request. */
    readonly decision: 'pass' | 'refuse' | 'answer';
    /** Stable name of the reason, as in the access log and in metrics. */
    readonly reason: string;
    /** The configured rule that decided. */
    readonly rule?: string | undefined;
    /** Milliseconds it took, for a module that did not answer at once. */
    readonly ms?: number | undefined;
  }[];
  /** The last target that was tried: an address or a tunnel. */
  readonly target?: string | undefined;
  /** Name of the node that passed the request on to its agent, if it is another one. */
  readonly tunnel_node?: string | undefined;
  /** Milliseconds since the start of the request. */
  readonly timings: {
    /** Until all modules had admitted it; null if they did not. */
    readonly admitted_ms: number | null;
    /** Until the response began; null if it never did. */
    readonly answered_ms: number | null;
    /** Until the response had ended. */
    readonly finished_ms: number;
  };
}

export interface RequestPage {
  /** The requests. */
  readonly requests: readonly Request[];
  /** The nodes that were asked. */
  readonly nodes: readonly {
    /** Name of the node. */
    readonly name: string;
    /** Whether it answered: otherwise its requests are missing. */
    readonly answered: boolean;
    /** Why it did not answer. */
    readonly problem?: string | undefined;
  }[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last one. */
  readonly next_page_uri: string | null;
}

export interface RequestQuery extends PageQuery {
  /** Only requests for this host. */
  readonly host?: string | undefined;
  /** Only requests with this status, such as 404, or a class such as 5xx. 0: without a response. */
  readonly status?: string | undefined;
  /** Only requests of this person, service account or guest link. */
  readonly user?: string | undefined;
  /** Only requests of this edge. An id: "edghts_" and 27 letters and digits. */
  readonly edge?: string | undefined;
  /** Only requests of this route. An id: "edghtsrt_" and 27 letters and digits. */
  readonly route?: string | undefined;
  /** Only requests that finished at this time or later. */
  readonly since?: string | undefined;
}

/** A request to the edge that has finished, with the decision of each module, its timings and its target. */
export class RequestsClient extends ResourceClient {
  /** List requests: every one, page after page. */
  list(query?: RequestQuery, options?: RequestOptions): AsyncGenerator<Request, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/requests', query }, 'requests', options);
  }

  /** List requests: one page. */
  page(query?: RequestQuery, options?: RequestOptions): Promise<Answer<RequestPage>> {
    return this.call({ method: 'GET', path: '/requests', query }, options);
  }

  /**
   * Get a request. A request that finished, by the Postern-Request-Id of its response. Returns 404 if no node that
   * answers has it: it is still running, it is too old, or its node was stopped.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<Request>> {
    return this.call({ method: 'GET', path: '/requests/{id}', params: { id } }, options);
  }
}

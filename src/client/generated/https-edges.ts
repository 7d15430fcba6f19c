// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';
import type { Transport } from '../transport.ts';
import type { HttpsEdgeRoute } from './https-edge-routes.ts';
import { type MutualTlsModule, MutualTlsModuleClient, type MutualTlsModuleReplace } from './mutual-tls-module.ts';
import {
  type TlsTerminationModule,
  TlsTerminationModuleClient,
  type TlsTerminationModuleReplace,
} from './tls-termination-module.ts';

export interface HttpsEdge {
  /** Id, starting with "edghts_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /**
   * Hosts and ports of the edge, each "host:port" such as "app.example.com:443". A host may start with "*.", which
   * stands for one label, and belongs to one edge whatever the port. The port is 443 or the one that the edge
   * listens on.
   */
  readonly hostports: readonly string[];
  /** Sets how TLS is terminated at the edge. Null when unset. */
  readonly tls_termination: TlsTerminationModule | null;
  /** Demands a client certificate that one of the named authorities has issued. Null when unset. */
  readonly mutual_tls: MutualTlsModule | null;
  /** All its routes, whole. */
  readonly routes: readonly HttpsEdgeRoute[];
}

export interface HttpsEdgeCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /**
   * Hosts and ports of the edge, each "host:port" such as "app.example.com:443". A host may start with "*.", which
   * stands for one label, and belongs to one edge whatever the port. The port is 443 or the one that the edge
   * listens on.
   */
  readonly hostports?: readonly string[] | undefined;
  /** Sets how TLS is terminated at the edge. */
  readonly tls_termination?: TlsTerminationModuleReplace | undefined;
  /** Demands a client certificate that one of the named authorities has issued. */
  readonly mutual_tls?: MutualTlsModuleReplace | undefined;
}

export interface HttpsEdgePage {
  /** The page, newest first. */
  readonly https_edges: readonly HttpsEdge[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface HttpsEdgeUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /**
   * Hosts and ports of the edge, each "host:port" such as "app.example.com:443". A host may start with "*.", which
   * stands for one label, and belongs to one edge whatever the port. The port is 443 or the one that the edge
   * listens on.
   */
  readonly hostports?: readonly string[] | undefined;
  /** Sets how TLS is terminated at the edge. */
  readonly tls_termination?: TlsTerminationModuleReplace | undefined;
  /** Demands a client certificate that one of the named authorities has issued. */
  readonly mutual_tls?: MutualTlsModuleReplace | undefined;
}

/** A set of hosts served over HTTPS, with routes that say what happens to their requests. */
export class HttpsEdgesClient extends ResourceClient {
  readonly tlsTermination: TlsTerminationModuleClient;
  readonly mutualTls: MutualTlsModuleClient;

  constructor(transport: Transport) {
    super(transport);
    this.tlsTermination = new TlsTerminationModuleClient(transport);
    this.mutualTls = new MutualTlsModuleClient(transport);
  }

  /** Create an HTTPS edge. A set of hosts served over HTTPS, with routes that say what happens to their requests. */
  create(body: HttpsEdgeCreate = {}, options?: CreateOptions): Promise<Answer<HttpsEdge>> {
    return this.call({ method: 'POST', path: '/edges/https', body }, options);
  }

  /** List HTTPS edges: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<HttpsEdge, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/edges/https', query }, 'https_edges', options);
  }

  /** List HTTPS edges: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<HttpsEdgePage>> {
    return this.call({ method: 'GET', path: '/edges/https', query }, options);
  }

  /** Get an HTTPS edge. A set of hosts served over HTTPS, with routes that say what happens to their requests. */
  get(id: string, options?: RequestOptions): Promise<Answer<HttpsEdge>> {
    return this.call({ method: 'GET', path: '/edges/https/{id}', params: { id } }, options);
  }

  /**
   * Change fields of an HTTPS edge. Only the fields that are named change. A module that is named is replaced
   * whole.
   */
  update(id: string, body: HttpsEdgeUpdate, options?: ConditionalOptions): Promise<Answer<HttpsEdge>> {
    return this.call({ method: 'PATCH', path: '/edges/https/{id}', params: { id }, body }, options);
  }

  /** Delete an HTTPS edge. A resource that others refer to is not deleted: 409, and details.referred_by names them. */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{id}', params: { id } }, options);
  }
}

// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
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
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /**
   * Hosts and ports of the edge, each "host:port" such as "app.example.com:443". A host may start with "*.", which
   * matches one label. A host belongs to one edge, regardless of the port. The port is 443, a port of the setting
   * edge_listen, or one of edge_host_ports.
   */
  readonly hostports: readonly string[];
  /** Configures TLS termination at the edge. Null if not set. */
  readonly tls_termination: TlsTerminationModule | null;
  /** Requires a client certificate issued by one of the listed certificate authorities. Null if not set. */
  readonly mutual_tls: MutualTlsModule | null;
  /** All routes, with all fields. */
  readonly routes: readonly HttpsEdgeRoute[];
}

export interface HttpsEdgeCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Hosts and ports of the edge, each "host:port" such as "app.example.com:443". A host may start with "*.", which
   * matches one label. A host belongs to one edge, regardless of the port. The port is 443, a port of the setting
   * edge_listen, or one of edge_host_ports.
   */
  readonly hostports?: readonly string[] | undefined;
  /** Configures TLS termination at the edge. */
  readonly tls_termination?: TlsTerminationModuleReplace | undefined;
  /** Requires a client certificate issued by one of the listed certificate authorities. */
  readonly mutual_tls?: MutualTlsModuleReplace | undefined;
}

export interface HttpsEdgePage {
  /** The page, newest first. */
  readonly https_edges: readonly HttpsEdge[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface HttpsEdgeUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Hosts and ports of the edge, each "host:port" such as "app.example.com:443". A host may start with "*.", which
   * matches one label. A host belongs to one edge, regardless of the port. The port is 443, a port of the setting
   * edge_listen, or one of edge_host_ports.
   */
  readonly hostports?: readonly string[] | undefined;
  /** Configures TLS termination at the edge. */
  readonly tls_termination?: TlsTerminationModuleReplace | undefined;
  /** Requires a client certificate issued by one of the listed certificate authorities. */
  readonly mutual_tls?: MutualTlsModuleReplace | undefined;
}

/** A set of hosts served over HTTPS, with routes for their requests. */
export class HttpsEdgesClient extends ResourceClient {
  readonly tlsTermination: TlsTerminationModuleClient;
  readonly mutualTls: MutualTlsModuleClient;

  constructor(transport: Transport) {
    super(transport);
    this.tlsTermination = new TlsTerminationModuleClient(transport);
    this.mutualTls = new MutualTlsModuleClient(transport);
  }

  /** Create an HTTPS edge. A set of hosts served over HTTPS, with routes for their requests. */
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

  /** Get an HTTPS edge. A set of hosts served over HTTPS, with routes for their requests. */
  get(id: string, options?: RequestOptions): Promise<Answer<HttpsEdge>> {
    return this.call({ method: 'GET', path: '/edges/https/{id}', params: { id } }, options);
  }

  /**
   * Update an HTTPS edge. Changes only the fields in the request; null counts as absent. A module in the request
   * is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: HttpsEdgeUpdate, options?: WriteOptions): Promise<Answer<HttpsEdge>> {
    return this.call({ method: 'PATCH', path: '/edges/https/{id}', params: { id }, body }, options);
  }

  /** Delete an HTTPS edge. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{id}', params: { id } }, options);
  }
}

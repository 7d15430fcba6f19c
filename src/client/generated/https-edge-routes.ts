// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';
import type { Transport } from '../transport.ts';
import { type BackendModule, BackendModuleClient, type BackendModuleReplace } from './backend-module.ts';
import {
  type CompressionModule,
  CompressionModuleClient,
  type CompressionModuleReplace,
} from './compression-module.ts';
import {
  type IpRestrictionModule,
  IpRestrictionModuleClient,
  type IpRestrictionModuleReplace,
} from './ip-restriction-module.ts';
import { type OidcModule, OidcModuleClient, type OidcModuleReplace } from './oidc-module.ts';

export interface HttpsEdgeRoute {
  /** Id, starting with "edghtsrt_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** Id of the https edge that it belongs to. */
  readonly edge_id: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /**
   * How "match" is compared: "exact_path" or "path_prefix". An exact path beats a prefix, and a longer prefix a
   * shorter one.
   */
  readonly match_type: 'exact_path' | 'path_prefix';
  /**
   * The path, starting with "/", without query, percent-encoded as clients send it. As a prefix it is a prefix of
   * the text: "/admin" also covers "/administrator". Requests that an upstream may read as this path, such as
   * "/ADMIN" for "/admin", are refused where other access modules would decide (setting ambiguous_paths).
   */
  readonly match: string;
  /**
   * Lets a client through when an allow rule of the named policies matches its address and no deny rule does. Null
   * when unset.
   */
  readonly ip_restriction: IpRestrictionModule | null;
  /** Lets only those through who have logged in at an OpenID provider. Null when unset. */
  readonly oidc: OidcModule | null;
  /** Compresses responses for clients that accept it. Null when unset. */
  readonly compression: CompressionModule | null;
  /** Sends requests to a backend. A route without an enabled one answers 503. Null when unset. */
  readonly backend: BackendModule | null;
}

export interface HttpsEdgeRouteCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /**
   * How "match" is compared: "exact_path" or "path_prefix". An exact path beats a prefix, and a longer prefix a
   * shorter one.
   */
  readonly match_type: 'exact_path' | 'path_prefix';
  /**
   * The path, starting with "/", without query, percent-encoded as clients send it. As a prefix it is a prefix of
   * the text: "/admin" also covers "/administrator". Requests that an upstream may read as this path, such as
   * "/ADMIN" for "/admin", are refused where other access modules would decide (setting ambiguous_paths).
   */
  readonly match: string;
  /** Lets a client through when an allow rule of the named policies matches its address and no deny rule does. */
  readonly ip_restriction?: IpRestrictionModuleReplace | undefined;
  /** Lets only those through who have logged in at an OpenID provider. */
  readonly oidc?: OidcModuleReplace | undefined;
  /** Compresses responses for clients that accept it. */
  readonly compression?: CompressionModuleReplace | undefined;
  /** Sends requests to a backend. A route without an enabled one answers 503. */
  readonly backend?: BackendModuleReplace | undefined;
}

export interface HttpsEdgeRoutePage {
  /** The page, newest first. */
  readonly routes: readonly HttpsEdgeRoute[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface HttpsEdgeRouteUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /**
   * How "match" is compared: "exact_path" or "path_prefix". An exact path beats a prefix, and a longer prefix a
   * shorter one.
   */
  readonly match_type?: 'exact_path' | 'path_prefix' | undefined;
  /**
   * The path, starting with "/", without query, percent-encoded as clients send it. As a prefix it is a prefix of
   * the text: "/admin" also covers "/administrator". Requests that an upstream may read as this path, such as
   * "/ADMIN" for "/admin", are refused where other access modules would decide (setting ambiguous_paths).
   */
  readonly match?: string | undefined;
  /** Lets a client through when an allow rule of the named policies matches its address and no deny rule does. */
  readonly ip_restriction?: IpRestrictionModuleReplace | undefined;
  /** Lets only those through who have logged in at an OpenID provider. */
  readonly oidc?: OidcModuleReplace | undefined;
  /** Compresses responses for clients that accept it. */
  readonly compression?: CompressionModuleReplace | undefined;
  /** Sends requests to a backend. A route without an enabled one answers 503. */
  readonly backend?: BackendModuleReplace | undefined;
}

/** A path of an edge, and the modules that its requests pass through. */
export class HttpsEdgeRoutesClient extends ResourceClient {
  readonly ipRestriction: IpRestrictionModuleClient;
  readonly oidc: OidcModuleClient;
  readonly compression: CompressionModuleClient;
  readonly backend: BackendModuleClient;

  constructor(transport: Transport) {
    super(transport);
    this.ipRestriction = new IpRestrictionModuleClient(transport);
    this.oidc = new OidcModuleClient(transport);
    this.compression = new CompressionModuleClient(transport);
    this.backend = new BackendModuleClient(transport);
  }

  /** Create a route of an HTTPS edge. A path of an edge, and the modules that its requests pass through. */
  create(edgeId: string, body: HttpsEdgeRouteCreate, options?: CreateOptions): Promise<Answer<HttpsEdgeRoute>> {
    return this.call(
      { method: 'POST', path: '/edges/https/{edge_id}/routes', params: { edge_id: edgeId }, body },
      options,
    );
  }

  /** List routes of an HTTPS edge: every one, page after page. */
  list(edgeId: string, query?: PageQuery, options?: RequestOptions): AsyncGenerator<HttpsEdgeRoute, void, undefined> {
    return this.eachItem(
      { method: 'GET', path: '/edges/https/{edge_id}/routes', params: { edge_id: edgeId }, query },
      'routes',
      options,
    );
  }

  /** List routes of an HTTPS edge: one page. */
  page(edgeId: string, query?: PageQuery, options?: RequestOptions): Promise<Answer<HttpsEdgeRoutePage>> {
    return this.call(
      { method: 'GET', path: '/edges/https/{edge_id}/routes', params: { edge_id: edgeId }, query },
      options,
    );
  }

  /** Get a route of an HTTPS edge. A path of an edge, and the modules that its requests pass through. */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<HttpsEdgeRoute>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}', params }, options);
  }

  /**
   * Change fields of a route of an HTTPS edge. Only the fields that are named change. A module that is named is
   * replaced whole.
   */
  update(
    params: { readonly edge_id: string; readonly id: string },
    body: HttpsEdgeRouteUpdate,
    options?: ConditionalOptions,
  ): Promise<Answer<HttpsEdgeRoute>> {
    return this.call({ method: 'PATCH', path: '/edges/https/{edge_id}/routes/{id}', params, body }, options);
  }

  /**
   * Delete a route of an HTTPS edge. A resource that others refer to is not deleted: 409, and details.referred_by
   * names them.
   */
  delete(
    params: { readonly edge_id: string; readonly id: string },
    options?: ConditionalOptions,
  ): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}', params }, options);
  }
}

// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';
import type { Transport } from '../transport.ts';
import { type AccessModule, AccessModuleClient, type AccessModuleReplace } from './access-module.ts';
import { type BackendModule, BackendModuleClient, type BackendModuleReplace } from './backend-module.ts';
import { type BasicAuthModule, BasicAuthModuleClient, type BasicAuthModuleReplace } from './basic-auth-module.ts';
import {
  type CircuitBreakerModule,
  CircuitBreakerModuleClient,
  type CircuitBreakerModuleReplace,
} from './circuit-breaker-module.ts';
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
import {
  type MaintenanceModule,
  MaintenanceModuleClient,
  type MaintenanceModuleReplace,
} from './maintenance-module.ts';
import { type OauthModule, OauthModuleClient, type OauthModuleReplace } from './oauth-module.ts';
import { type OidcModule, OidcModuleClient, type OidcModuleReplace } from './oidc-module.ts';
import { type RateLimitModule, RateLimitModuleClient, type RateLimitModuleReplace } from './rate-limit-module.ts';
import { type RedirectModule, RedirectModuleClient, type RedirectModuleReplace } from './redirect-module.ts';
import { RequestHeadersModuleClient } from './request-headers-module.ts';
import {
  type ResponseHeadersModule,
  ResponseHeadersModuleClient,
  type ResponseHeadersModuleReplace,
} from './response-headers-module.ts';
import { type RewriteModule, RewriteModuleClient, type RewriteModuleReplace } from './rewrite-module.ts';
import {
  type UserAgentFilterModule,
  UserAgentFilterModuleClient,
  type UserAgentFilterModuleReplace,
} from './user-agent-filter-module.ts';

export interface HttpsEdgeRoute {
  /** Id, starting with "edghtsrt_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Id of the https edge that it belongs to. */
  readonly edge_id: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /**
   * How "match" is compared: "exact_path" or "path_prefix". An exact path takes precedence over a prefix, and a
   * longer prefix over a shorter one.
   */
  readonly match_type: 'exact_path' | 'path_prefix';
  /**
   * The path, starting with "/", without a query, percent-encoded as clients send it. A prefix is compared as
   * text: "/admin" also matches "/administrator". A request whose path an upstream may interpret as this one, such
   * as "/ADMIN" for "/admin", is rejected if a route with different access modules would serve it (setting
   * ambiguous_paths).
   */
  readonly match: string;
  /** Always null. May be sent back empty. */
  readonly saml: null;
  /** Always null. May be sent back empty. */
  readonly traffic_policy: null;
  /** Always null. May be sent back empty. */
  readonly policy: null;
  /**
   * Admits a client if an allow rule or allow list of the policies matches its address and no deny rule or deny
   * list does. Null if not set.
   */
  readonly ip_restriction: IpRestrictionModule | null;
  /**
   * Refuses requests by their User-Agent: those that a pattern of "deny" matches and none of "allow", and those
   * without one. Null if not set.
   */
  readonly user_agent_filter: UserAgentFilterModule | null;
  /** Answers every request with 503 and a text, except those from listed addresses. Null if not set. */
  readonly maintenance: MaintenanceModule | null;
  /**
   * Refuses requests beyond limits by address, person, program, header or route with 429. Each node counts for
   * itself. Null if not set.
   */
  readonly rate_limit: RateLimitModule | null;
  /** Redirects requests to other addresses, by rules for their paths. Null if not set. */
  readonly redirect: RedirectModule | null;
  /** Requires a user name and a password (HTTP Basic authentication, RFC 7617). Null if not set. */
  readonly basic_auth: BasicAuthModule | null;
  /** Requires a login at an OpenID provider. Null if not set. */
  readonly oidc: OidcModule | null;
  /** Requires a login at Amazon, Facebook, GitHub, GitLab, Google, LinkedIn, Microsoft or Twitch. Null if not set. */
  readonly oauth: OauthModule | null;
  /**
   * Admits a known requester if an allow rule or a bearer entry matches and no deny rule does. People become known
   * by the login module of the route. Null if not set.
   */
  readonly access: AccessModule | null;
  /**
   * Refuses requests with 503 for a while after too many requests to the backend have failed. Each node counts for
   * itself. Null if not set.
   */
  readonly circuit_breaker: CircuitBreakerModule | null;
  /**
   * Removes headers from responses of the backend, and adds others. Pages of the edge itself keep theirs. Null if
   * not set.
   */
  readonly response_headers: ResponseHeadersModule | null;
  /** Compresses responses for clients that accept compression. Null if not set. */
  readonly compression: CompressionModule | null;
  /** Changes the paths of requests before they reach the upstream. The visitor sees no change. Null if not set. */
  readonly rewrite: RewriteModule | null;
  /** Removes headers from requests, and adds others, before they reach the upstream. Null if not set. */
  readonly request_headers: ResponseHeadersModule | null;
  /** Forwards requests to a backend. A route without an enabled backend module returns 503. Null if not set. */
  readonly backend: BackendModule | null;
}

export interface HttpsEdgeRouteCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * How "match" is compared: "exact_path" or "path_prefix". An exact path takes precedence over a prefix, and a
   * longer prefix over a shorter one.
   */
  readonly match_type: 'exact_path' | 'path_prefix';
  /**
   * The path, starting with "/", without a query, percent-encoded as clients send it. A prefix is compared as
   * text: "/admin" also matches "/administrator". A request whose path an upstream may interpret as this one, such
   * as "/ADMIN" for "/admin", is rejected if a route with different access modules would serve it (setting
   * ambiguous_paths).
   */
  readonly match: string;
  /**
   * Admits a client if an allow rule or allow list of the policies matches its address and no deny rule or deny
   * list does.
   */
  readonly ip_restriction?: IpRestrictionModuleReplace | undefined;
  /**
   * Refuses requests by their User-Agent: those that a pattern of "deny" matches and none of "allow", and those
   * without one.
   */
  readonly user_agent_filter?: UserAgentFilterModuleReplace | undefined;
  /** Answers every request with 503 and a text, except those from listed addresses. */
  readonly maintenance?: MaintenanceModuleReplace | undefined;
  /**
   * Refuses requests beyond limits by address, person, program, header or route with 429. Each node counts for
   * itself.
   */
  readonly rate_limit?: RateLimitModuleReplace | undefined;
  /** Redirects requests to other addresses, by rules for their paths. */
  readonly redirect?: RedirectModuleReplace | undefined;
  /** Requires a user name and a password (HTTP Basic authentication, RFC 7617). */
  readonly basic_auth?: BasicAuthModuleReplace | undefined;
  /** Requires a login at an OpenID provider. */
  readonly oidc?: OidcModuleReplace | undefined;
  /** Requires a login at Amazon, Facebook, GitHub, GitLab, Google, LinkedIn, Microsoft or Twitch. */
  readonly oauth?: OauthModuleReplace | undefined;
  /**
   * Admits a known requester if an allow rule or a bearer entry matches and no deny rule does. People become known
   * by the login module of the route.
   */
  readonly access?: AccessModuleReplace | undefined;
  /**
   * Refuses requests with 503 for a while after too many requests to the backend have failed. Each node counts for
   * itself.
   */
  readonly circuit_breaker?: CircuitBreakerModuleReplace | undefined;
  /** Removes headers from responses of the backend, and adds others. Pages of the edge itself keep theirs. */
  readonly response_headers?: ResponseHeadersModuleReplace | undefined;
  /** Compresses responses for clients that accept compression. */
  readonly compression?: CompressionModuleReplace | undefined;
  /** Changes the paths of requests before they reach the upstream. The visitor sees no change. */
  readonly rewrite?: RewriteModuleReplace | undefined;
  /** Removes headers from requests, and adds others, before they reach the upstream. */
  readonly request_headers?: ResponseHeadersModuleReplace | undefined;
  /** Forwards requests to a backend. A route without an enabled backend module returns 503. */
  readonly backend?: BackendModuleReplace | undefined;
}

export interface HttpsEdgeRoutePage {
  /** The page, newest first. */
  readonly routes: readonly HttpsEdgeRoute[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface HttpsEdgeRouteUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * How "match" is compared: "exact_path" or "path_prefix". An exact path takes precedence over a prefix, and a
   * longer prefix over a shorter one.
   */
  readonly match_type?: 'exact_path' | 'path_prefix' | undefined;
  /**
   * The path, starting with "/", without a query, percent-encoded as clients send it. A prefix is compared as
   * text: "/admin" also matches "/administrator". A request whose path an upstream may interpret as this one, such
   * as "/ADMIN" for "/admin", is rejected if a route with different access modules would serve it (setting
   * ambiguous_paths).
   */
  readonly match?: string | undefined;
  /**
   * Admits a client if an allow rule or allow list of the policies matches its address and no deny rule or deny
   * list does.
   */
  readonly ip_restriction?: IpRestrictionModuleReplace | undefined;
  /**
   * Refuses requests by their User-Agent: those that a pattern of "deny" matches and none of "allow", and those
   * without one.
   */
  readonly user_agent_filter?: UserAgentFilterModuleReplace | undefined;
  /** Answers every request with 503 and a text, except those from listed addresses. */
  readonly maintenance?: MaintenanceModuleReplace | undefined;
  /**
   * Refuses requests beyond limits by address, person, program, header or route with 429. Each node counts for
   * itself.
   */
  readonly rate_limit?: RateLimitModuleReplace | undefined;
  /** Redirects requests to other addresses, by rules for their paths. */
  readonly redirect?: RedirectModuleReplace | undefined;
  /** Requires a user name and a password (HTTP Basic authentication, RFC 7617). */
  readonly basic_auth?: BasicAuthModuleReplace | undefined;
  /** Requires a login at an OpenID provider. */
  readonly oidc?: OidcModuleReplace | undefined;
  /** Requires a login at Amazon, Facebook, GitHub, GitLab, Google, LinkedIn, Microsoft or Twitch. */
  readonly oauth?: OauthModuleReplace | undefined;
  /**
   * Admits a known requester if an allow rule or a bearer entry matches and no deny rule does. People become known
   * by the login module of the route.
   */
  readonly access?: AccessModuleReplace | undefined;
  /**
   * Refuses requests with 503 for a while after too many requests to the backend have failed. Each node counts for
   * itself.
   */
  readonly circuit_breaker?: CircuitBreakerModuleReplace | undefined;
  /** Removes headers from responses of the backend, and adds others. Pages of the edge itself keep theirs. */
  readonly response_headers?: ResponseHeadersModuleReplace | undefined;
  /** Compresses responses for clients that accept compression. */
  readonly compression?: CompressionModuleReplace | undefined;
  /** Changes the paths of requests before they reach the upstream. The visitor sees no change. */
  readonly rewrite?: RewriteModuleReplace | undefined;
  /** Removes headers from requests, and adds others, before they reach the upstream. */
  readonly request_headers?: ResponseHeadersModuleReplace | undefined;
  /** Forwards requests to a backend. A route without an enabled backend module returns 503. */
  readonly backend?: BackendModuleReplace | undefined;
}

/** A path of an edge, with the modules that process its requests. */
export class HttpsEdgeRoutesClient extends ResourceClient {
  readonly ipRestriction: IpRestrictionModuleClient;
  readonly userAgentFilter: UserAgentFilterModuleClient;
  readonly maintenance: MaintenanceModuleClient;
  readonly rateLimit: RateLimitModuleClient;
  readonly redirect: RedirectModuleClient;
  readonly basicAuth: BasicAuthModuleClient;
  readonly oidc: OidcModuleClient;
  readonly oauth: OauthModuleClient;
  readonly access: AccessModuleClient;
  readonly circuitBreaker: CircuitBreakerModuleClient;
  readonly responseHeaders: ResponseHeadersModuleClient;
  readonly compression: CompressionModuleClient;
  readonly rewrite: RewriteModuleClient;
  readonly requestHeaders: RequestHeadersModuleClient;
  readonly backend: BackendModuleClient;

  constructor(transport: Transport) {
    super(transport);
    this.ipRestriction = new IpRestrictionModuleClient(transport);
    this.userAgentFilter = new UserAgentFilterModuleClient(transport);
    this.maintenance = new MaintenanceModuleClient(transport);
    this.rateLimit = new RateLimitModuleClient(transport);
    this.redirect = new RedirectModuleClient(transport);
    this.basicAuth = new BasicAuthModuleClient(transport);
    this.oidc = new OidcModuleClient(transport);
    this.oauth = new OauthModuleClient(transport);
    this.access = new AccessModuleClient(transport);
    this.circuitBreaker = new CircuitBreakerModuleClient(transport);
    this.responseHeaders = new ResponseHeadersModuleClient(transport);
    this.compression = new CompressionModuleClient(transport);
    this.rewrite = new RewriteModuleClient(transport);
    this.requestHeaders = new RequestHeadersModuleClient(transport);
    this.backend = new BackendModuleClient(transport);
  }

  /** Create a route of an HTTPS edge. A path of an edge, with the modules that process its requests. */
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

  /** Get a route of an HTTPS edge. A path of an edge, with the modules that process its requests. */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<HttpsEdgeRoute>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}', params }, options);
  }

  /**
   * Update a route of an HTTPS edge. Changes only the fields in the request; null counts as absent. A module in
   * the request is replaced as a whole. DELETE of the module removes it.
   */
  update(
    params: { readonly edge_id: string; readonly id: string },
    body: HttpsEdgeRouteUpdate,
    options?: WriteOptions,
  ): Promise<Answer<HttpsEdgeRoute>> {
    return this.call({ method: 'PATCH', path: '/edges/https/{edge_id}/routes/{id}', params, body }, options);
  }

  /** Delete a route of an HTTPS edge. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}', params }, options);
  }
}

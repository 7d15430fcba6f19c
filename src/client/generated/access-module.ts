// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface AccessModule {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled: boolean;
  /**
   * Whether the rules are enforced. false rehearses them: every request passes, and the log, the metrics and the
   * events report which would have been refused. Default: true.
   */
  readonly enforce: boolean;
  /** At most 100 rules, one of which must match. With no rules here and in "bearer", nobody passes. */
  readonly allow: readonly {
    /** 1 to 100 email addresses, compared without regard to case. */
    readonly emails?: readonly string[] | undefined;
    /**
     * 1 to 100 domains of email addresses, such as "example.com". "*.example.com" matches every domain below
     * example.com, at any depth, and not example.com itself.
     */
    readonly email_domains?: readonly string[] | undefined;
    /**
     * Claims that the requester must have, each with a list of 1 to 100 accepted values: texts, numbers or booleans,
     * compared by their JSON text. A claim that is a list matches by any element. A name is first looked up as it is
     * written, then as a dotted path into objects, such as "realm_access.roles". Email addresses are no claims here,
     * under any name: use "emails" and "email_domains". At most 16 names; all of them must match.
     */
    readonly claims?: Readonly<Record<string, readonly (string | number | boolean)[]>> | undefined;
    /** 1 to 100 ids of service accounts, which then cannot be deleted. */
    readonly service_accounts?: readonly string[] | undefined;
    /** Matches everybody who came in by a guest link of this route. Must be true. */
    readonly guests?: boolean | undefined;
    /**
     * Whether "emails" and "email_domains" also match an address that the provider does not report as verified.
     * Default: false.
     */
    readonly allow_unverified_email?: boolean | undefined;
  }[];
  /** At most 100 rules, none of which may match. They take precedence over "allow" and "bearer". */
  readonly deny: readonly {
    /** 1 to 100 email addresses, compared without regard to case. */
    readonly emails?: readonly string[] | undefined;
    /**
     * 1 to 100 domains of email addresses, such as "example.com". "*.example.com" matches every domain below
     * example.com, at any depth, and not example.com itself.
     */
    readonly email_domains?: readonly string[] | undefined;
    /**
     * Claims that the requester must have, each with a list of 1 to 100 accepted values: texts, numbers or booleans,
     * compared by their JSON text. A claim that is a list matches by any element. A name is first looked up as it is
     * written, then as a dotted path into objects, such as "realm_access.roles". Email addresses are no claims here,
     * under any name: use "emails" and "email_domains". At most 16 names; all of them must match.
     */
    readonly claims?: Readonly<Record<string, readonly (string | number | boolean)[]>> | undefined;
    /** 1 to 100 ids of service accounts, which then cannot be deleted. */
    readonly service_accounts?: readonly string[] | undefined;
    /** Matches everybody who came in by a guest link of this route. Must be true. */
    readonly guests?: boolean | undefined;
  }[];
  /** At most 100 issuers whose tokens admit programs. */
  readonly bearer: readonly {
    /** Issuer of the tokens, the base of its discovery document: an https URL without query or fragment. */
    readonly issuer: string;
    /** 1 to 100 audiences. The token must be made for one of them. */
    readonly audiences: readonly string[];
    /**
     * Claims that the requester must have, each with a list of 1 to 100 accepted values: texts, numbers or booleans,
     * compared by their JSON text. A claim that is a list matches by any element. A name is first looked up as it is
     * written, then as a dotted path into objects, such as "realm_access.roles". Email addresses are no claims here,
     * under any name: use "emails" and "email_domains". At most 16 names; all of them must match.
     */
    readonly claims: Readonly<Record<string, readonly (string | number | boolean)[]>>;
  }[];
  /**
   * Whether the token of a service account or of an issuer in "bearer" is forwarded to the upstream. Default:
   * false.
   */
  readonly forward_bearer: boolean;
}

export interface AccessModuleReplace {
  /** Whether the module is applied to traffic. Default: true. */
  readonly enabled?: boolean | undefined;
  /**
   * Whether the rules are enforced. false rehearses them: every request passes, and the log, the metrics and the
   * events report which would have been refused. Default: true.
   */
  readonly enforce?: boolean | undefined;
  /** At most 100 rules, one of which must match. With no rules here and in "bearer", nobody passes. */
  readonly allow?:
    | readonly {
        /** 1 to 100 email addresses, compared without regard to case. */
        readonly emails?: readonly string[] | undefined;
        /**
         * 1 to 100 domains of email addresses, such as "example.com". "*.example.com" matches every domain below
         * example.com, at any depth, and not example.com itself.
         */
        readonly email_domains?: readonly string[] | undefined;
        /**
         * Claims that the requester must have, each with a list of 1 to 100 accepted values: texts, numbers or booleans,
         * compared by their JSON text. A claim that is a list matches by any element. A name is first looked up as it is
         * written, then as a dotted path into objects, such as "realm_access.roles". Email addresses are no claims here,
         * under any name: use "emails" and "email_domains". At most 16 names; all of them must match.
         */
        readonly claims?: Readonly<Record<string, readonly (string | number | boolean)[]>> | undefined;
        /** 1 to 100 ids of service accounts, which then cannot be deleted. */
        readonly service_accounts?: readonly string[] | undefined;
        /** Matches everybody who came in by a guest link of this route. Must be true. */
        readonly guests?: boolean | undefined;
        /**
         * Whether "emails" and "email_domains" also match an address that the provider does not report as verified.
         * Default: false.
         */
        readonly allow_unverified_email?: boolean | undefined;
      }[]
    | undefined;
  /** At most 100 rules, none of which may match. They take precedence over "allow" and "bearer". */
  readonly deny?:
    | readonly {
        /** 1 to 100 email addresses, compared without regard to case. */
        readonly emails?: readonly string[] | undefined;
        /**
         * 1 to 100 domains of email addresses, such as "example.com". "*.example.com" matches every domain below
         * example.com, at any depth, and not example.com itself.
         */
        readonly email_domains?: readonly string[] | undefined;
        /**
         * Claims that the requester must have, each with a list of 1 to 100 accepted values: texts, numbers or booleans,
         * compared by their JSON text. A claim that is a list matches by any element. A name is first looked up as it is
         * written, then as a dotted path into objects, such as "realm_access.roles". Email addresses are no claims here,
         * under any name: use "emails" and "email_domains". At most 16 names; all of them must match.
         */
        readonly claims?: Readonly<Record<string, readonly (string | number | boolean)[]>> | undefined;
        /** 1 to 100 ids of service accounts, which then cannot be deleted. */
        readonly service_accounts?: readonly string[] | undefined;
        /** Matches everybody who came in by a guest link of this route. Must be true. */
        readonly guests?: boolean | undefined;
      }[]
    | undefined;
  /** At most 100 issuers whose tokens admit programs. */
  readonly bearer?:
    | readonly {
        /** Issuer of the tokens, the base of its discovery document: an https URL without query or fragment. */
        readonly issuer: string;
        /** 1 to 100 audiences. The token must be made for one of them. */
        readonly audiences: readonly string[];
        /**
         * Claims that the requester must have, each with a list of 1 to 100 accepted values: texts, numbers or booleans,
         * compared by their JSON text. A claim that is a list matches by any element. A name is first looked up as it is
         * written, then as a dotted path into objects, such as "realm_access.roles". Email addresses are no claims here,
         * under any name: use "emails" and "email_domains". At most 16 names; all of them must match.
         */
        readonly claims: Readonly<Record<string, readonly (string | number | boolean)[]>>;
      }[]
    | undefined;
  /**
   * Whether the token of a service account or of an issuer in "bearer" is forwarded to the upstream. Default:
   * false.
   */
  readonly forward_bearer?: boolean | undefined;
}

export interface AccessModuleTestAnswer {
  /** Whether the rules let the requester in. */
  readonly allowed: boolean;
  /** The rule that decides, by its position; null if no rule matches. */
  readonly rule: string | null;
  /**
   * Why: "allowed", "denied" (a deny rule matches), "no_rule" (no allow rule matches), "no_rules" (there are
   * none), "email_unverified" (a rule would match if the address were verified) or "account_inactive".
   */
  readonly reason: string;
  /** The same, for people. */
  readonly message: string;
  /**
   * What on the route reads the paths of requests: the edge then rejects paths such as "/a//b" there
   * (docs/reference/routes.md). Null: nothing.
   */
  readonly paths_read_by: string | null;
}

export interface AccessModuleTest {
  /** Email address of the person. */
  readonly email?: string | undefined;
  /** Whether the provider reports the address as verified. Default: true. */
  readonly email_verified?: boolean | undefined;
  /** Claims of the person, such as {"groups": ["ops"]}. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /** A service account instead of a person. */
  readonly service_account_id?: string | undefined;
  /** A guest instead of a person. */
  readonly guest?: boolean | undefined;
  /** A proposed configuration of the module, in place of the stored one. */
  readonly access?: AccessModuleReplace | undefined;
}

export interface AccessModuleReviewAnswer {
  /** People with a session on the edge, last active first; at most 10000. */
  readonly people: readonly {
    /** The user. */
    readonly application_user: Ref;
    /** Email address from the provider. */
    readonly email: string;
    /** When the person was last active on the edge. */
    readonly last_active: string;
    /** Whether the rules let the person in. */
    readonly allowed: boolean;
    /** The rule that decides; null if no rule matches. */
    readonly rule: string | null;
    /** As in the test of access rules. */
    readonly reason: string;
  }[];
  /** Whether there are more than 10000 people. */
  readonly is_truncated: boolean;
}

export interface AccessModuleQuery extends PageQuery {
  /** Only people who were active at or after this time (RFC 3339). Default: 30 days ago. */
  readonly since?: string | undefined;
}

export interface AccessModuleReviewProposedAnswer {
  /** People with a session on the edge, last active first; at most 10000. */
  readonly people: readonly {
    /** The user. */
    readonly application_user: Ref;
    /** Email address from the provider. */
    readonly email: string;
    /** When the person was last active on the edge. */
    readonly last_active: string;
    /** Whether the rules let the person in. */
    readonly allowed: boolean;
    /** The rule that decides; null if no rule matches. */
    readonly rule: string | null;
    /** As in the test of access rules. */
    readonly reason: string;
  }[];
  /** Whether there are more than 10000 people. */
  readonly is_truncated: boolean;
}

export interface AccessModuleReviewProposed {
  /** A proposed configuration of the module, in place of the stored one. */
  readonly access: AccessModuleReplace;
}

export interface AccessModuleQuery extends PageQuery {
  /** Only people who were active at or after this time (RFC 3339). Default: 30 days ago. */
  readonly since?: string | undefined;
}

/**
 * Admits a known requester if an allow rule or a bearer entry matches and no deny rule does. People become known
 * by the login module of the route.
 */
export class AccessModuleClient extends ResourceClient {
  /**
   * Replace the Access module. Admits a known requester if an allow rule or a bearer entry matches and no deny
   * rule does. People become known by the login module of the route. An omitted field is reset to its default.
   */
  replace(
    params: { readonly edge_id: string; readonly id: string },
    body: AccessModuleReplace = {},
    options?: WriteOptions,
  ): Promise<Answer<AccessModule>> {
    return this.call({ method: 'PUT', path: '/edges/https/{edge_id}/routes/{id}/access', params, body }, options);
  }

  /**
   * Get the Access module. Admits a known requester if an allow rule or a bearer entry matches and no deny rule
   * does. People become known by the login module of the route. Returns 404 if the module is not set.
   */
  get(
    params: { readonly edge_id: string; readonly id: string },
    options?: RequestOptions,
  ): Promise<Answer<AccessModule>> {
    return this.call({ method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/access', params }, options);
  }

  /** Delete the Access module. Succeeds without effect if the module is not set. */
  delete(params: { readonly edge_id: string; readonly id: string }, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/edges/https/{edge_id}/routes/{id}/access', params },
      options,
    );
  }

  /**
   * Test the access rules of a route. Returns the decision about a described person, service account or guest, and
   * the rule that decides. With "access", a proposed configuration is tested instead of the stored one. Nothing is
   * changed.
   */
  test(
    params: { readonly edge_id: string; readonly id: string },
    body: AccessModuleTest = {},
    options?: RequestOptions,
  ): Promise<Answer<AccessModuleTestAnswer>> {
    return this.call({ method: 'POST', path: '/edges/https/{edge_id}/routes/{id}/access/test', params, body }, options);
  }

  /**
   * Review who passes the access rules of a route. Lists everybody who has a session on the edge of the route, and
   * whether the rules of the route let them in. Needs the scope app:read as well.
   */
  review(
    params: { readonly edge_id: string; readonly id: string },
    query?: AccessModuleQuery,
    options?: RequestOptions,
  ): Promise<Answer<AccessModuleReviewAnswer>> {
    return this.call(
      { method: 'GET', path: '/edges/https/{edge_id}/routes/{id}/access/review', params, query },
      options,
    );
  }

  /**
   * Review who would pass proposed access rules of a route. The same for the configuration in "access", which is
   * not stored. Needs the scope app:read as well.
   */
  reviewProposed(
    params: { readonly edge_id: string; readonly id: string },
    body: AccessModuleReviewProposed,
    query?: AccessModuleQuery,
    options?: RequestOptions,
  ): Promise<Answer<AccessModuleReviewProposedAnswer>> {
    return this.call(
      { method: 'POST', path: '/edges/https/{edge_id}/routes/{id}/access/review', params, body, query },
      options,
    );
  }
}

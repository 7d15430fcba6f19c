// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ReservedDomain {
  /** Id, starting with "rd_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /** The host, such as "app.example.com" or "*.example.com". It cannot be changed later. */
  readonly domain: string;
  /** Region of the domain, for your own use; "" when left out. */
  readonly region: string;
  /** Id of the TLS certificate that the host shows. Not together with certificate_management_policy. */
  readonly certificate: Ref | null;
  /** Have the certificate issued and renewed. Not together with certificate_id. */
  readonly certificate_management_policy: {
    /**
     * Who issues the certificate: "internal", the CA of this server. For a public one upload it with POST
     * /tls_certificates.
     */
    readonly authority: 'internal';
    /** Type of the private key: "ecdsa". */
    readonly private_key_type: 'ecdsa';
  } | null;
  /** State of the managed certificate; null when it is not managed. */
  readonly certificate_management_status: {
    /** When it is renewed; null while that is not known. */
    readonly renews_at: string | null;
    /** Always null: issuing takes no time. */
    readonly provisioning_job: null;
  } | null;
  /** Always null: nothing is issued with DNS challenges. */
  readonly acme_challenge_cname_target: null;
  /** What a CNAME record of the domain should point at. */
  readonly cname_target: string | null;
}

export interface ReservedDomainCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** The host, such as "app.example.com" or "*.example.com". It cannot be changed later. */
  readonly domain: string;
  /** Region of the domain, for your own use; "" when left out. */
  readonly region?: string | undefined;
  /** Id of the TLS certificate that the host shows. Not together with certificate_management_policy. */
  readonly certificate_id?: string | undefined;
  /** Have the certificate issued and renewed. Not together with certificate_id. */
  readonly certificate_management_policy?:
    | {
        /**
         * Who issues the certificate: "internal", the CA of this server. For a public one upload it with POST
         * /tls_certificates.
         */
        readonly authority: 'internal';
        /** Type of the private key: "ecdsa". */
        readonly private_key_type?: 'ecdsa' | undefined;
      }
    | undefined;
}

export interface ReservedDomainPage {
  /** The page, newest first. */
  readonly reserved_domains: readonly ReservedDomain[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface ReservedDomainUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** Id of the TLS certificate that the host shows. Not together with certificate_management_policy. */
  readonly certificate_id?: string | undefined;
  /** Have the certificate issued and renewed. Not together with certificate_id. */
  readonly certificate_management_policy?:
    | {
        /**
         * Who issues the certificate: "internal", the CA of this server. For a public one upload it with POST
         * /tls_certificates.
         */
        readonly authority: 'internal';
        /** Type of the private key: "ecdsa". */
        readonly private_key_type?: 'ecdsa' | undefined;
      }
    | undefined;
}

/** A host and where its certificate comes from. Edges need no reservation. */
export class ReservedDomainsClient extends ResourceClient {
  /** Create a reserved domain. A host and where its certificate comes from. Edges need no reservation. */
  create(body: ReservedDomainCreate, options?: CreateOptions): Promise<Answer<ReservedDomain>> {
    return this.call({ method: 'POST', path: '/reserved_domains', body }, options);
  }

  /** List reserved domains: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<ReservedDomain, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/reserved_domains', query }, 'reserved_domains', options);
  }

  /** List reserved domains: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<ReservedDomainPage>> {
    return this.call({ method: 'GET', path: '/reserved_domains', query }, options);
  }

  /** Get a reserved domain. A host and where its certificate comes from. Edges need no reservation. */
  get(id: string, options?: RequestOptions): Promise<Answer<ReservedDomain>> {
    return this.call({ method: 'GET', path: '/reserved_domains/{id}', params: { id } }, options);
  }

  /**
   * Change fields of a reserved domain. Only the fields that are named change. A module that is named is replaced
   * whole.
   */
  update(id: string, body: ReservedDomainUpdate, options?: ConditionalOptions): Promise<Answer<ReservedDomain>> {
    return this.call({ method: 'PATCH', path: '/reserved_domains/{id}', params: { id }, body }, options);
  }

  /**
   * Delete a reserved domain. A resource that others refer to is not deleted: 409, and details.referred_by names
   * them.
   */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/reserved_domains/{id}', params: { id } }, options);
  }

  /**
   * Take the certificate from a reserved domain. Sets "certificate_id" back. A domain that has none stays as it
   * is, which is no error.
   */
  deleteCertificate(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/reserved_domains/{id}/certificate', params: { id } },
      options,
    );
  }

  /**
   * Take the certificate policy from a reserved domain. Sets "certificate_management_policy" back. A domain that
   * has none stays as it is, which is no error.
   */
  deleteCertificateManagementPolicy(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/reserved_domains/{id}/certificate_management_policy', params: { id } },
      options,
    );
  }
}

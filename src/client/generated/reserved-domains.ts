// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ReservedDomain {
  /** Id, starting with "rd_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** The host, such as "app.example.com" or "*.example.com". It cannot be changed later. */
  readonly domain: string;
  /** Region of the domain, for your own use. Default: "". */
  readonly region: string;
  /** Id of the TLS certificate for the host. Cannot be combined with certificate_management_policy. */
  readonly certificate: Ref | null;
  /** Policy to issue and renew the certificate automatically. Cannot be combined with certificate_id. */
  readonly certificate_management_policy: {
    /**
     * Authority that issues the certificate: "letsencrypt" for the ACME servers in the setting acme_directory, or
     * "internal" for the CA of this server. Upload other certificates with POST /tls_certificates.
     */
    readonly authority: 'letsencrypt' | 'internal';
    /** Type of the private key: "ecdsa" or "rsa". The internal CA always uses "ecdsa". */
    readonly private_key_type: 'ecdsa' | 'rsa';
  } | null;
  /**
   * State of the certificate that an ACME server issues for the domain, with or without a policy; null if the
   * domain needs none.
   */
  readonly certificate_management_status: {
    /** When the certificate is renewed; null while unknown. */
    readonly renews_at: string | null;
    /** Work on a new certificate, in progress or waiting; null if there is none. */
    readonly provisioning_job: {
      /** Code of the last failure; null if there was none. */
      readonly error_code: string | null;
      /** What went wrong and what to do; empty if nothing did. */
      readonly msg: string;
      /** When the work on the certificate began. */
      readonly started_at: string;
      /** When the next attempt is made; null during an attempt. */
      readonly retries_at: string | null;
    } | null;
  } | null;
  /** Always null. For DNS challenges, the setting acme_dns names the provider of a zone. */
  readonly acme_challenge_cname_target: null;
  /** Target for a CNAME record of the domain. */
  readonly cname_target: string | null;
}

export interface ReservedDomainCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** The host, such as "app.example.com" or "*.example.com". It cannot be changed later. */
  readonly domain: string;
  /** Region of the domain, for your own use. Default: "". */
  readonly region?: string | undefined;
  /** Id of the TLS certificate for the host. Cannot be combined with certificate_management_policy. */
  readonly certificate_id?: string | undefined;
  /** Policy to issue and renew the certificate automatically. Cannot be combined with certificate_id. */
  readonly certificate_management_policy?:
    | {
        /**
         * Authority that issues the certificate: "letsencrypt" for the ACME servers in the setting acme_directory, or
         * "internal" for the CA of this server. Upload other certificates with POST /tls_certificates.
         */
        readonly authority: 'letsencrypt' | 'internal';
        /** Type of the private key: "ecdsa" or "rsa". The internal CA always uses "ecdsa". */
        readonly private_key_type?: 'ecdsa' | 'rsa' | undefined;
      }
    | undefined;
}

export interface ReservedDomainPage {
  /** The page, newest first. */
  readonly reserved_domains: readonly ReservedDomain[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface ReservedDomainUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** Id of the TLS certificate for the host. Cannot be combined with certificate_management_policy. */
  readonly certificate_id?: string | undefined;
  /** Policy to issue and renew the certificate automatically. Cannot be combined with certificate_id. */
  readonly certificate_management_policy?:
    | {
        /**
         * Authority that issues the certificate: "letsencrypt" for the ACME servers in the setting acme_directory, or
         * "internal" for the CA of this server. Upload other certificates with POST /tls_certificates.
         */
        readonly authority: 'letsencrypt' | 'internal';
        /** Type of the private key: "ecdsa" or "rsa". The internal CA always uses "ecdsa". */
        readonly private_key_type?: 'ecdsa' | 'rsa' | undefined;
      }
    | undefined;
}

/** A host and the source of its certificate. Edges do not require a reservation. */
export class ReservedDomainsClient extends ResourceClient {
  /** Create a reserved domain. A host and the source of its certificate. Edges do not require a reservation. */
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

  /** Get a reserved domain. A host and the source of its certificate. Edges do not require a reservation. */
  get(id: string, options?: RequestOptions): Promise<Answer<ReservedDomain>> {
    return this.call({ method: 'GET', path: '/reserved_domains/{id}', params: { id } }, options);
  }

  /**
   * Update a reserved domain. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: ReservedDomainUpdate, options?: WriteOptions): Promise<Answer<ReservedDomain>> {
    return this.call({ method: 'PATCH', path: '/reserved_domains/{id}', params: { id }, body }, options);
  }

  /** Delete a reserved domain. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/reserved_domains/{id}', params: { id } }, options);
  }

  /**
   * Remove the certificate of a reserved domain. Resets "certificate_id". If the domain has none, nothing changes
   * and the request succeeds.
   */
  deleteCertificate(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/reserved_domains/{id}/certificate', params: { id } },
      options,
    );
  }

  /**
   * Remove the certificate policy of a reserved domain. Resets "certificate_management_policy". If the domain has
   * none, nothing changes and the request succeeds.
   */
  deleteCertificateManagementPolicy(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing(
      { method: 'DELETE', path: '/reserved_domains/{id}/certificate_management_policy', params: { id } },
      options,
    );
  }
}

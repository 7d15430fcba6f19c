// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { Ref } from '../ref.ts';
import type { RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface ManagedCertificate {
  /** Id, starting with "mc_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When the name came under management. */
  readonly created_at: string;
  /** The host name or wildcard. */
  readonly hostname: string;
  /**
   * "issued" while a certificate is valid, even if its renewal fails. "pending" before the first one, "failed"
   * after a failed attempt. Meanwhile the internal CA's certificate is presented.
   */
  readonly status: 'issued' | 'pending' | 'failed';
  /** Serial number of the current certificate in lowercase hexadecimal; null if there is none. */
  readonly serial_number: string | null;
  /** When the current certificate expires; null if there is none. */
  readonly not_after: string | null;
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
  /** The uploaded TLS certificate that is valid for the name now; null if there is none. */
  readonly certificate: Ref | null;
}

export interface ManagedCertificatePage {
  /** The page, newest first. */
  readonly managed_certificates: readonly ManagedCertificate[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

/**
 * A name whose certificate the server orders and renews at an ACME server: a public host of an edge, a reserved
 * domain, or a name of the server itself.
 */
export class ManagedCertificatesClient extends ResourceClient {
  /** List managed certificates: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<ManagedCertificate, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/managed_certificates', query }, 'managed_certificates', options);
  }

  /** List managed certificates: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<ManagedCertificatePage>> {
    return this.call({ method: 'GET', path: '/managed_certificates', query }, options);
  }

  /** Get a managed certificate. Returns 404 if it has ended or was deleted. */
  get(id: string, options?: RequestOptions): Promise<Answer<ManagedCertificate>> {
    return this.call({ method: 'GET', path: '/managed_certificates/{id}', params: { id } }, options);
  }
}

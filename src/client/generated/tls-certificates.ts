// Made from the schemas of src/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { ConditionalOptions, CreateOptions, RequestOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface TlsCertificate {
  /** Id, starting with "cert_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. RFC 3339, UTC. */
  readonly created_at: string;
  /** What this is for, in your own words; at most 255 characters. */
  readonly description: string;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata: string;
  /** The chain in PEM: the certificate of the host first, then the intermediates. It cannot be changed later. */
  readonly certificate_pem: string;
  /** Common name of the subject. */
  readonly subject_common_name: string;
  /** Names and addresses that the certificate is for. */
  readonly subject_alternative_names: {
    /** Host names. */
    readonly dns_names: readonly string[];
    /** Addresses. */
    readonly ips: readonly string[];
  };
  /** When the certificate was issued. RFC 3339, UTC. */
  readonly issued_at: string;
  /** When it becomes valid. RFC 3339, UTC. */
  readonly not_before: string;
  /** When it stops being valid. RFC 3339, UTC. */
  readonly not_after: string;
  /** What the key may be used for. */
  readonly key_usages: readonly string[];
  /** What for in particular. */
  readonly extended_key_usages: readonly string[];
  /** Type of the key, such as "rsa" or "ecdsa". */
  readonly private_key_type: string;
  /** Common name of the issuer. */
  readonly issuer_common_name: string;
  /** Serial number in lower-case hexadecimal. */
  readonly serial_number: string;
  /** Organization of the subject. */
  readonly subject_organization: string;
  /** Organizational unit of the subject. */
  readonly subject_organizational_unit: string;
  /** Locality of the subject. */
  readonly subject_locality: string;
  /** State or province of the subject. */
  readonly subject_province: string;
  /** Country of the subject. */
  readonly subject_country: string;
}

export interface TlsCertificateCreate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
  /** The chain in PEM: the certificate of the host first, then the intermediates. It cannot be changed later. */
  readonly certificate_pem: string;
  /**
   * The private key in PEM, not encrypted, that belongs to the first certificate. Sealed at rest and never
   * returned.
   */
  readonly private_key_pem: string;
}

export interface TlsCertificatePage {
  /** The page, newest first. */
  readonly tls_certificates: readonly TlsCertificate[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page, or null when there is none. */
  readonly next_page_uri: string | null;
}

export interface TlsCertificateUpdate {
  /** What this is for, in your own words; at most 255 characters. */
  readonly description?: string | undefined;
  /** Anything of yours, such as JSON; at most 4096 bytes. Postern does not read it. */
  readonly metadata?: string | undefined;
}

/** A certificate with its private key, shown by the edge for the hosts that it names. */
export class TlsCertificatesClient extends ResourceClient {
  /** Create a TLS certificate. A certificate with its private key, shown by the edge for the hosts that it names. */
  create(body: TlsCertificateCreate, options?: CreateOptions): Promise<Answer<TlsCertificate>> {
    return this.call({ method: 'POST', path: '/tls_certificates', body }, options);
  }

  /** List TLS certificates: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<TlsCertificate, void, undefined> {
    return this.eachItem({ method: 'GET', path: '/tls_certificates', query }, 'tls_certificates', options);
  }

  /** List TLS certificates: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<TlsCertificatePage>> {
    return this.call({ method: 'GET', path: '/tls_certificates', query }, options);
  }

  /** Get a TLS certificate. A certificate with its private key, shown by the edge for the hosts that it names. */
  get(id: string, options?: RequestOptions): Promise<Answer<TlsCertificate>> {
    return this.call({ method: 'GET', path: '/tls_certificates/{id}', params: { id } }, options);
  }

  /**
   * Change fields of a TLS certificate. Only the fields that are named change. A module that is named is replaced
   * whole.
   */
  update(id: string, body: TlsCertificateUpdate, options?: ConditionalOptions): Promise<Answer<TlsCertificate>> {
    return this.call({ method: 'PATCH', path: '/tls_certificates/{id}', params: { id }, body }, options);
  }

  /**
   * Delete a TLS certificate. A resource that others refer to is not deleted: 409, and details.referred_by names
   * them.
   */
  delete(id: string, options?: ConditionalOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/tls_certificates/{id}', params: { id } }, options);
  }
}

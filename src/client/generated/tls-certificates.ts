// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface TlsCertificate {
  /** Id, starting with "cert_". */
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
   * The certificate chain in PEM format: the certificate of the host, then the intermediates. PATCH it together
   * with private_key_pem to renew it under the same id.
   */
  readonly certificate_pem: string;
  /**
   * Absolute path of a file on the server with the chain, instead of certificate_pem. The server reads it again
   * when it changes. Its directory must be in the setting certificate_file_dirs.
   */
  readonly certificate_file: string;
  /** Absolute path of a file on the server with the private key, instead of private_key_pem. */
  readonly private_key_file: string;
  /** Common name of the subject. */
  readonly subject_common_name: string;
  /** Names and addresses that the certificate is valid for. */
  readonly subject_alternative_names: {
    /** Host names. */
    readonly dns_names: readonly string[];
    /** Addresses. */
    readonly ips: readonly string[];
  };
  /** When the certificate was issued. */
  readonly issued_at: string;
  /** When the certificate becomes valid. */
  readonly not_before: string;
  /** When the certificate expires. */
  readonly not_after: string;
  /** Key usages of the certificate. */
  readonly key_usages: readonly string[];
  /** Extended key usages of the certificate. */
  readonly extended_key_usages: readonly string[];
  /** Type of the key, such as "rsa" or "ecdsa". */
  readonly private_key_type: string;
  /** Common name of the issuer. */
  readonly issuer_common_name: string;
  /** Serial number in lowercase hexadecimal. */
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
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * The certificate chain in PEM format: the certificate of the host, then the intermediates. PATCH it together
   * with private_key_pem to renew it under the same id.
   */
  readonly certificate_pem?: string | undefined;
  /** The unencrypted private key of the first certificate, in PEM format. Encrypted at rest and never returned. */
  readonly private_key_pem?: string | undefined;
  /**
   * Absolute path of a file on the server with the chain, instead of certificate_pem. The server reads it again
   * when it changes. Its directory must be in the setting certificate_file_dirs.
   */
  readonly certificate_file?: string | undefined;
  /** Absolute path of a file on the server with the private key, instead of private_key_pem. */
  readonly private_key_file?: string | undefined;
}

export interface TlsCertificatePage {
  /** The page, newest first. */
  readonly tls_certificates: readonly TlsCertificate[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface TlsCertificateUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * The certificate chain in PEM format: the certificate of the host, then the intermediates. PATCH it together
   * with private_key_pem to renew it under the same id.
   */
  readonly certificate_pem?: string | undefined;
  /** The unencrypted private key of the first certificate, in PEM format. Encrypted at rest and never returned. */
  readonly private_key_pem?: string | undefined;
  /**
   * Absolute path of a file on the server with the chain, instead of certificate_pem. The server reads it again
   * when it changes. Its directory must be in the setting certificate_file_dirs.
   */
  readonly certificate_file?: string | undefined;
  /** Absolute path of a file on the server with the private key, instead of private_key_pem. */
  readonly private_key_file?: string | undefined;
}

/** A certificate with its private key. The edge presents it for the hosts that it names. */
export class TlsCertificatesClient extends ResourceClient {
  /**
   * Create a TLS certificate. A certificate with its private key. The edge presents it for the hosts that it
   * names.
   */
  create(body: TlsCertificateCreate = {}, options?: CreateOptions): Promise<Answer<TlsCertificate>> {
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

  /** Get a TLS certificate. A certificate with its private key. The edge presents it for the hosts that it names. */
  get(id: string, options?: RequestOptions): Promise<Answer<TlsCertificate>> {
    return this.call({ method: 'GET', path: '/tls_certificates/{id}', params: { id } }, options);
  }

  /**
   * Update a TLS certificate. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: TlsCertificateUpdate, options?: WriteOptions): Promise<Answer<TlsCertificate>> {
    return this.call({ method: 'PATCH', path: '/tls_certificates/{id}', params: { id }, body }, options);
  }

  /** Delete a TLS certificate. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/tls_certificates/{id}', params: { id } }, options);
  }
}

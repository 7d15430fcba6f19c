// Generated from the schemas of src/control/resources and src/modules by "npm run generate". Do not edit.
import type { Answer, ResponseInfo } from '../answer.ts';
import type { PageQuery } from '../page-query.ts';
import type { CreateOptions, RequestOptions, WriteOptions } from '../request-options.ts';
import { ResourceClient } from '../resource-client.ts';

export interface CertificateAuthority {
  /** Id, starting with "ca_". */
  readonly id: string;
  /** URI of the resource. */
  readonly uri: string;
  /** When it was created. */
  readonly created_at: string;
  /** Free text for your own use; at most 255 characters. */
  readonly description: string;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata: string;
  /** One CA certificate in PEM format, such as the output of "openssl req -x509". It cannot be changed later. */
  readonly ca_pem: string;
  /**
   * Whether client certificates are checked against revocation lists: "off"; "soft", which rejects revoked
   * certificates and accepts others even if a list is missing or stale; "hard", which then rejects all. Applies to
   * every certificate below this authority, so each intermediate needs a list as well. Default: "off".
   */
  readonly crl_mode: 'off' | 'soft' | 'hard';
  /**
   * Revocation lists in PEM format ("X509 CRL"): the list of this authority, and those of its intermediates. At
   * most 524288 characters; publish a longer list at crl_url. Default: "".
   */
  readonly crl_pem: string;
  /**
   * http or https URL of the complete revocation list of this authority, in DER format (at most 16 MiB) or PEM
   * format (at most 4 MiB). It is fetched regularly, and before the list becomes stale. Redirects are not
   * followed. If crl_pem has a list too, the newer one counts. Default: "".
   */
  readonly crl_url: string;
  /** Common name of the certificate's subject. */
  readonly subject_common_name: string;
  /** When the certificate becomes valid. */
  readonly not_before: string;
  /** When the certificate expires. */
  readonly not_after: string;
  /** Key usages of the certificate. */
  readonly key_usages: readonly string[];
  /** Extended key usages of the certificate. */
  readonly extended_key_usages: readonly string[];
  /**
   * State of the newest revocation list of this authority: "current", "stale" (its next update is overdue),
   * "not_yet_valid" or "missing"; "off" if crl_mode is "off".
   */
  readonly crl_status: 'off' | 'current' | 'stale' | 'not_yet_valid' | 'missing';
  /** When the newest list was issued (thisUpdate); null without a list. */
  readonly crl_updated_at: string | null;
  /** When the next list is due and this one becomes stale (nextUpdate); null without a list. */
  readonly crl_next_update: string | null;
  /** Number of the list, in decimal; null if it has none. */
  readonly crl_number: string | null;
  /** How many certificates the list revokes. */
  readonly crl_entry_count: number;
  /** When crl_url last responded with a usable list; null if it never did. */
  readonly crl_fetched_at: string | null;
  /** Why the last request to crl_url failed; null if it succeeded. The list in use stays in use. */
  readonly crl_error: string | null;
}

export interface CertificateAuthorityCreate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /** One CA certificate in PEM format, such as the output of "openssl req -x509". It cannot be changed later. */
  readonly ca_pem: string;
  /**
   * Whether client certificates are checked against revocation lists: "off"; "soft", which rejects revoked
   * certificates and accepts others even if a list is missing or stale; "hard", which then rejects all. Applies to
   * every certificate below this authority, so each intermediate needs a list as well. Default: "off".
   */
  readonly crl_mode?: 'off' | 'soft' | 'hard' | undefined;
  /**
   * Revocation lists in PEM format ("X509 CRL"): the list of this authority, and those of its intermediates. At
   * most 524288 characters; publish a longer list at crl_url. Default: "".
   */
  readonly crl_pem?: string | undefined;
  /**
   * http or https URL of the complete revocation list of this authority, in DER format (at most 16 MiB) or PEM
   * format (at most 4 MiB). It is fetched regularly, and before the list becomes stale. Redirects are not
   * followed. If crl_pem has a list too, the newer one counts. Default: "".
   */
  readonly crl_url?: string | undefined;
}

export interface CertificateAuthorityPage {
  /** The page, newest first. */
  readonly certificate_authorities: readonly CertificateAuthority[];
  /** URI of the list. */
  readonly uri: string;
  /** URI of the next page; null on the last page. */
  readonly next_page_uri: string | null;
}

export interface CertificateAuthorityUpdate {
  /** Free text for your own use; at most 255 characters. */
  readonly description?: string | undefined;
  /** Custom data, such as JSON; at most 4096 bytes. Postern does not interpret it. */
  readonly metadata?: string | undefined;
  /**
   * Whether client certificates are checked against revocation lists: "off"; "soft", which rejects revoked
   * certificates and accepts others even if a list is missing or stale; "hard", which then rejects all. Applies to
   * every certificate below this authority, so each intermediate needs a list as well. Default: "off".
   */
  readonly crl_mode?: 'off' | 'soft' | 'hard' | undefined;
  /**
   * Revocation lists in PEM format ("X509 CRL"): the list of this authority, and those of its intermediates. At
   * most 524288 characters; publish a longer list at crl_url. Default: "".
   */
  readonly crl_pem?: string | undefined;
  /**
   * http or https URL of the complete revocation list of this authority, in DER format (at most 16 MiB) or PEM
   * format (at most 4 MiB). It is fetched regularly, and before the list becomes stale. Redirects are not
   * followed. If crl_pem has a list too, the newer one counts. Default: "".
   */
  readonly crl_url?: string | undefined;
}

/** A CA certificate against which the mutual TLS module verifies client certificates. */
export class CertificateAuthoritiesClient extends ResourceClient {
  /**
   * Create a certificate authority. A CA certificate against which the mutual TLS module verifies client
   * certificates.
   */
  create(body: CertificateAuthorityCreate, options?: CreateOptions): Promise<Answer<CertificateAuthority>> {
    return this.call({ method: 'POST', path: '/certificate_authorities', body }, options);
  }

  /** List certificate authorities: every one, page after page. */
  list(query?: PageQuery, options?: RequestOptions): AsyncGenerator<CertificateAuthority, void, undefined> {
    return this.eachItem(
      { method: 'GET', path: '/certificate_authorities', query },
      'certificate_authorities',
      options,
    );
  }

  /** List certificate authorities: one page. */
  page(query?: PageQuery, options?: RequestOptions): Promise<Answer<CertificateAuthorityPage>> {
    return this.call({ method: 'GET', path: '/certificate_authorities', query }, options);
  }

  /**
   * Get a certificate authority. A CA certificate against which the mutual TLS module verifies client
   * certificates.
   */
  get(id: string, options?: RequestOptions): Promise<Answer<CertificateAuthority>> {
    return this.call({ method: 'GET', path: '/certificate_authorities/{id}', params: { id } }, options);
  }

  /**
   * Update a certificate authority. Changes only the fields in the request; null counts as absent. A module in the
   * request is replaced as a whole. DELETE of the module removes it.
   */
  update(id: string, body: CertificateAuthorityUpdate, options?: WriteOptions): Promise<Answer<CertificateAuthority>> {
    return this.call({ method: 'PATCH', path: '/certificate_authorities/{id}', params: { id }, body }, options);
  }

  /** Delete a certificate authority. Returns 409 if other resources refer to it; details.referred_by names them. */
  delete(id: string, options?: WriteOptions): Promise<ResponseInfo> {
    return this.callForNothing({ method: 'DELETE', path: '/certificate_authorities/{id}', params: { id } }, options);
  }
}

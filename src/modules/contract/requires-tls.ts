import type { X509Certificate } from 'node:crypto';
import type { ClientCertificate } from './traffic-request.ts';

/** A capability, for modules of edges: requirements for connections. Read by the TLS layer. */
export interface RequiresTls {
  readonly tls?: TlsPolicy;
}

export interface TlsPolicy {
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** PEM of the authorities for client certificates; if present, a certificate is required. Empty: none is accepted. */
  readonly clientAuthorities?: readonly string[];
  /** Further check of client certificates that these authorities issued; absent: none. */
  readonly revocation?: RevocationPolicy;
}

/** Which certificates were revoked. Applied to handshakes, and to open connections whenever its version changes. */
export interface RevocationPolicy {
  /** Differs when a verdict may differ. */
  readonly version: string;
  judge(certificate: ClientCertificate, presented: PresentedCertificates, nowMs: number): RevocationVerdict;
}

/** All certificates that the client sent, its own first; empty once the connection is closed. */
export type PresentedCertificates = () => readonly X509Certificate[];

export interface RevocationVerdict {
  readonly refusal: {
    /** Stable values for metrics and log. */
    readonly reason: 'client_certificate_revoked' | 'client_certificate_revocation_unknown';
    readonly message: string;
  } | null;
  /** Why an accepted certificate could not be checked; null: it was. */
  readonly unchecked: string | null;
}

/** A certificate that a host can present, with its key. */
export interface ServedCertificate {
  /** Equal only for the same certificate and key. */
  readonly identity: string;
  readonly source: 'uploaded' | 'managed' | 'internal';
  /** The chain, the host's own certificate first. */
  readonly certificatePem: string;
  readonly privateKeyPem: string;
  readonly notAfterMs: number;
  /** Sessions resume with any certificate of the same scope, on any node. Absent: with this certificate only. */
  readonly ticketScope?: string;
  /** It was issued for a name that no edge lists: anybody can cause many of them. */
  readonly isOfInventedName?: boolean;
}

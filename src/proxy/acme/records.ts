import { createHash } from 'node:crypto';

/** An account at an ACME server. Its secret `/private_key` is a JWK as JSON text. */
export const ACME_ACCOUNT_KIND = 'acme_account';
/** Record kind of a name whose certificate comes from an ACME server. It is a resource of the API. */
export const MANAGED_CERTIFICATE = 'managed_certificate';
/** A pending challenge. Every node answers it from its replica. */
export const ACME_CHALLENGE_KIND = 'acme_challenge';

/** Secret of a managed certificate: the key of the current certificate, PKCS #8 PEM. */
export const PRIVATE_KEY = '/private_key';
/** Secret of a managed certificate: the key of the order in flight. It is saved before the order uses it. */
export const NEXT_PRIVATE_KEY = '/next_private_key';

export type PrivateKeyType = 'ecdsa' | 'rsa';
export type ChallengeType = 'tls-alpn-01' | 'http-01' | 'dns-01';

export type AcmeAccountDoc = {
  readonly directory_url: string;
  /** Null until the server has confirmed the registration. The key is saved before. */
  readonly account_url: string | null;
  readonly email: string | null;
  readonly eab_key_id: string | null;
  readonly created_at: string;
  /** When the current key was put to use. */
  readonly key_created_at: string;
  /** While the key is being changed, the secret `/next_private_key` is the new one. */
  readonly key_change_started_at: string | null;
};

export type ManagedCertificateDoc = {
  /** Lower case; may be a wildcard such as `*.example.com`. */
  readonly hostname: string;
  readonly private_key_type: PrivateKeyType;
  readonly created_at: string;
  /** Chain, leaf first. Null until the first certificate is issued. */
  readonly certificate_pem: string | null;
  /** Lower-case hexadecimal. */
  readonly serial_number: string | null;
  readonly not_before: string | null;
  readonly not_after: string | null;
  /** The server that issued the current certificate. */
  readonly directory_url: string | null;
  /** The challenge that the current certificate was issued with; the next order tries it first. */
  readonly challenge_type: ChallengeType | null;
  readonly renews_at: string | null;
  /** When the server's renewal information (RFC 9773) was last read. Null: the server offers none. */
  readonly renewal_checked_at: string | null;
  /** When it is read again. */
  readonly renewal_check_at: string | null;
  /** Serial number of the certificate whose coming expiry was reported. */
  readonly expiring_reported: string | null;
  /** Since when nothing asks for the name. The record is removed some hours later. */
  readonly unwanted_since: string | null;
  /** A node that has it as a name of its own listeners extends this: other nodes do not know its settings. */
  readonly own_name_until: string | null;
  /** Work on a certificate: in progress, or waiting for its next attempt. Null while there is nothing to do. */
  readonly job: CertificateJob | null;
  /** The order in flight. It is resumed after a crash instead of being repeated. */
  readonly order: OrderInFlight | null;
  /** DNS records that could not be removed. The next attempt tries again. Absent: none. */
  readonly dns_leftovers?: readonly StoredDnsRecord[];
  /** Lease: one node at a time works on a name. Every commit of the worker expects the revision of the record. */
  readonly worker: CertificateWorker | null;
};

export type CertificateJob = {
  readonly started_at: string;
  /** Null while an attempt is in progress. */
  readonly retries_at: string | null;
  /** Failed rounds through all directories. */
  readonly attempts: number;
  readonly error_code: string | null;
  readonly msg: string | null;
  /** Which of the configured directories the current round uses. */
  readonly directory_index: number;
  /** Directories that asked to be left alone until then, by URL. */
  readonly holds: { readonly [directoryUrl: string]: string };
};

export type OrderInFlight = {
  readonly directory_url: string;
  /** Null between the decision to order and the answer: the order may exist without our knowing its URL. */
  readonly order_url: string | null;
  readonly state: 'creating' | 'validating' | 'finalizing';
  readonly created_at: string;
  readonly challenge_type: ChallengeType | null;
  /** A DNS record that has to be removed. */
  readonly dns_record: StoredDnsRecord | null;
};

/** A TXT record where it really is, after CNAME records were followed. */
export type StoredDnsRecord = { readonly fqdn: string; readonly value: string };

export type CertificateWorker = {
  readonly boot_id: string;
  readonly until: string;
  /** A unique key of the record while it is leased: the store itself bounds the orders of all nodes together. */
  readonly slot: number;
};

export type AcmeChallengeDoc = {
  readonly hostname: string;
  readonly type: Exclude<ChallengeType, 'dns-01'>;
  readonly token: string;
  readonly key_authorization: string;
  readonly expires_at: string;
};

export type ManagedStatus = 'issued' | 'pending' | 'failed';

/** `issued` while a certificate is valid, also when its renewal fails: traffic is served. */
export function managedStatus(
  { not_after: notAfter, job }: Pick<ManagedCertificateDoc, 'not_after' | 'job'>,
  nowMs: number,
): ManagedStatus {
  if (notAfter !== null && Date.parse(notAfter) > nowMs) return 'issued';
  return (job?.error_code ?? null) === null ? 'pending' : 'failed';
}

/** Stable: a name has at most one challenge of a type, and a lookup needs no index. */
export function challengeId(hostname: string, type: AcmeChallengeDoc['type']): string {
  return `acmech_${createHash('sha256').update(`${type} ${hostname}`).digest('hex').slice(0, 32)}`;
}

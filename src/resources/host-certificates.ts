import type { StoredRecord } from '../store/store.ts';

/** Certificates by host name. */
export interface HostCertificates {
  /** The record of a name under management. */
  managed(hostname: string): StoredRecord | undefined;
  /** Id of the uploaded certificate that is valid for the name now. */
  uploaded(hostname: string): string | null;
}

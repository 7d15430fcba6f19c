import type { JsonObject } from '../../lib/json.ts';

/** Configuration as the certificates need it. The replica has this form. */
export interface CertificateRecords {
  all(kind: string): Iterable<CertificateRecord>;
  /** Called with what changed, after `all` shows it. Returns how to stop. */
  onChange(listener: (changes: readonly CertificateRecordChange[]) => void): () => void;
}

export interface CertificateRecord {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly doc: JsonObject;
  /** By JSON pointer, each as JSON text. */
  readonly secrets: Readonly<Record<string, string>> | null;
}

export type CertificateRecordChange =
  | { readonly op: 'put'; readonly record: CertificateRecord }
  | { readonly op: 'delete'; readonly key: { readonly kind: string; readonly id: string } };

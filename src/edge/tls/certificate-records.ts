import type { JsonObject } from '../../lib/json.ts';

/** Configuration records needed for certificates. The replica implements this. */
export interface CertificateRecords {
  all(kind: string): Iterable<CertificateRecord>;
  /** Called after `all` shows changes of these kinds. Returns a function that stops listening. */
  onChange(listener: (changes: readonly CertificateRecordChange[]) => void, kinds: readonly string[]): () => void;
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

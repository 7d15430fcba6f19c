import type { OperationRequest } from './operation.ts';

export interface SearchResult {
  readonly kind: string;
  readonly id: string;
  readonly uri: string;
  readonly title: string;
  /** The field in which the text occurs. */
  readonly matched: string;
}

/** Finds configuration by text. */
export interface SearchPort {
  find(
    text: string,
    limit: number,
    request: Pick<OperationRequest, 'principal'>,
  ): Promise<{ readonly results: readonly SearchResult[]; readonly hasMore: boolean }>;
}

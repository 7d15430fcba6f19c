import type { HeaderList } from './header-list.ts';

/** A request that was read completely. */
export interface WholeRequest {
  readonly id: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Path and query as received. */
  readonly target: string;
  /** Without `host`, and without what proxies report about the visitor. */
  readonly headers: HeaderList;
  readonly body: Buffer;
  readonly clientAddress: string;
}

export interface WholeAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: string | Buffer;
}

/** The query of a request. */
export function queryOf({ target }: Pick<WholeRequest, 'target'>): URLSearchParams {
  const at = target.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : target.slice(at + 1));
}

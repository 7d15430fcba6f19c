import type { HeaderList } from './header-values.ts';

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

interface FormHeaders {
  readonly origin: string | undefined;
  /** Sec-Fetch-Site. */
  readonly site: string | undefined;
}

/**
 * Whether a page of this origin sent the form. A page without a referrer sends its forms with `Origin: null`: then only
 * Sec-Fetch-Site tells, which browsers send since 2023. A client that sends neither is no browser with our page.
 */
export function isSameOrigin({ origin, site }: FormHeaders, own: string): boolean {
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined || origin === 'null') return site === 'same-origin';
  return origin === own;
}

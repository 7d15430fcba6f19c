import type { HeaderList } from '../../lib/http/header-list.ts';

/** A whole request for the identity host, as the edge hands it over. */
export interface IdentityRequest {
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

export interface IdentityAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: string | Buffer;
}

/** One page or form of the identity host. */
export interface IdentityPage {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  serve(request: IdentityRequest): Promise<IdentityAnswer> | IdentityAnswer;
}

/** The server of the identity host. */
export interface IdentityHost {
  /** `https://` and the setting `identity_host`. */
  readonly issuer: string;
  /** Without the port. */
  readonly hostname: string;
  serve(request: IdentityRequest): Promise<IdentityAnswer>;
}

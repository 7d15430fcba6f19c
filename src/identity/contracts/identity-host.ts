import type { WholeAnswer, WholeRequest } from '../../lib/http/whole-request.ts';

/** One page or form of the identity host. */
export interface IdentityPage {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  serve(request: WholeRequest): Promise<WholeAnswer> | WholeAnswer;
}

/** The server of the identity host. */
export interface IdentityHost {
  /** `https://` and the setting `identity_host`. */
  readonly issuer: string;
  /** Without the port. */
  readonly hostname: string;
  serve(request: WholeRequest): Promise<WholeAnswer>;
}

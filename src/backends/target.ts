import type { ErrorCode } from '../lib/errors.ts';
import type { HeaderList } from '../lib/http/header-list.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** The destination of one attempt. */
export type Target =
  | { readonly kind: 'upstream'; readonly upstream: Upstream; readonly name: string }
  | {
      readonly kind: 'response';
      readonly name: string;
      readonly status: number;
      readonly headers: HeaderList;
      readonly body: Buffer;
    }
  /** There is nothing to send to; counts as "cannot be reached". */
  | { readonly kind: 'unreachable'; readonly error: UnreachableAnswer; readonly reason: string };

/** The response when no other target can be reached either. */
export interface UnreachableAnswer {
  readonly status: number;
  readonly code: ErrorCode;
  /** What is wrong, and what the visitor can do. */
  readonly message: string;
}

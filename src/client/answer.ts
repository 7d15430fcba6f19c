import type { FetchedResponse } from './call-errors.ts';

/** Metadata of a response, beside its body. */
export interface ResponseInfo {
  readonly status: number;
  /** `op_…`: also in the server's log. Null when the response did not come from Postern. */
  readonly operationId: string | null;
  /** For `ifMatch`; null where the resource has none. */
  readonly etag: string | null;
  /** Store revision that a write created or confirmed. */
  readonly revision: number | null;
  /** Why this edge, route or module serves no traffic: a module that cannot be prepared. */
  readonly problem: string | null;
  /** What is wrong with this edge or domain although it serves traffic, such as a certificate that is not trusted. */
  readonly warning: string | null;
}

const INFO: unique symbol = Symbol('postern.response');

/** A body as the API sent it; `responseOf` returns the metadata. The mark is invisible to loops, spreads and JSON. */
export type Answer<Body> = Body & { readonly [INFO]: ResponseInfo };

export function answer<Body extends object>(body: Body, info: ResponseInfo): Answer<Body> {
  return Object.defineProperty(body, INFO, { value: info, enumerable: false }) as Answer<Body>;
}

/** Etag, revision, status and operation id of the response that contained an object. */
export function responseOf(answered: Answered): ResponseInfo {
  return answered[INFO];
}

export interface Answered {
  readonly [INFO]: ResponseInfo;
}

export function responseInfo(response: Pick<FetchedResponse, 'status' | 'headers'>): ResponseInfo {
  const revision = response.headers.get('postern-revision');
  return {
    status: response.status,
    operationId: response.headers.get('postern-operation-id'),
    etag: response.headers.get('etag'),
    revision: revision === null ? null : Number(revision),
    problem: response.headers.get('postern-problem'),
    warning: response.headers.get('postern-warning'),
  };
}

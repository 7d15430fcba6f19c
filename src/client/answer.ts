/** What a response said beside its body. */
export interface ResponseInfo {
  readonly status: number;
  /** `op_…`: also in the server's log. Null when something that is not Postern answered. */
  readonly operationId: string | null;
  /** For `ifMatch`; null where the resource has none. */
  readonly etag: string | null;
  /** Revision of the store that a write took or confirmed. */
  readonly revision: number | null;
  /** Why the edge, route or module that is shown lets no traffic through: a module that cannot be prepared. */
  readonly problem: string | null;
}

const INFO: unique symbol = Symbol('postern.response');

/** A body as the API sent it; `responseOf` tells what came with it. The mark is invisible to loops, spreads and JSON. */
export type Answer<Body> = Body & { readonly [INFO]: ResponseInfo };

export function answer<Body extends object>(body: Body, info: ResponseInfo): Answer<Body> {
  return Object.defineProperty(body, INFO, { value: info, enumerable: false }) as Answer<Body>;
}

/** Etag, revision, status and operation id of the response that an object came with. */
export function responseOf(answered: Answered): ResponseInfo {
  return answered[INFO];
}

export interface Answered {
  readonly [INFO]: ResponseInfo;
}

export function responseInfo(response: Response): ResponseInfo {
  const revision = response.headers.get('postern-revision');
  return {
    status: response.status,
    operationId: response.headers.get('postern-operation-id'),
    etag: response.headers.get('etag'),
    revision: revision === null ? null : Number(revision),
    problem: response.headers.get('postern-problem'),
  };
}

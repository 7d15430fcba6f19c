import { ApiError } from './api-error.ts';
import { refreshPendingChange } from './pending-change.ts';
import { type Answer, request } from './request.ts';

export interface Write {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  /** ETag of the version that the change is based on; null: any. */
  readonly etag: string | null;
  /** Such as "5m": the server reverts the change unless somebody confirms it in this time. Null: it stays. */
  readonly confirmWithin: string | null;
}

interface ChangesetAnswer<Body> {
  readonly results: readonly { readonly body: Body }[];
}

const MAX_TRIES = 5;

/** One write, for good or on trial. */
export async function write<Body>(wanted: Write): Promise<Answer<Body>> {
  if (wanted.confirmWithin !== null) return writeOnTrial<Body>(wanted, wanted.confirmWithin);
  const { method, path, body, etag } = wanted;
  return request<Body>(method, path, { body, ifMatch: method === 'POST' ? null : etag });
}

/**
 * A changeset knows no If-Match: it expects the revision at which the document was still the one that was edited.
 * Writes to other documents change the revision too, so it tries again.
 */
async function writeOnTrial<Body>({ method, path, body, etag }: Write, confirmWithin: string): Promise<Answer<Body>> {
  for (let tries = 1; ; tries += 1) {
    const expected = method === 'POST' || etag === null ? null : await revisionWith(path, etag);
    try {
      const answer = await request<ChangesetAnswer<Body>>('POST', '/changesets', {
        body: {
          operations: [{ method, path, ...(body !== undefined && { body }) }],
          confirm_within: confirmWithin,
          ...(expected !== null && { expected_revision: expected }),
        },
      });
      void refreshPendingChange();
      return { ...answer, data: answer.data.results[0]?.body as Body, etag: null };
    } catch (error) {
      const isRetried = error instanceof ApiError && error.isConflict && expected !== null && tries < MAX_TRIES;
      if (!isRetried) throw withoutOperation(error);
    }
  }
}

/** Throws a conflict when somebody else changed the document. */
export async function revisionWith(path: string, etag: string): Promise<number> {
  const { revision } = (await request<{ revision: number }>('POST', '/changesets', { body: NOTHING })).data;
  const current = await request('GET', path);
  if (current.etag === etag) return revision;
  throw new ApiError(412, 'ERR_POSTERN_PRECONDITION_FAILED', 'Somebody else changed this meanwhile.');
}

const NOTHING = { operations: [], dry_run: true };

/** The number of the operation means nothing to a person who made one change. */
function withoutOperation(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  const { operation: _, ...details } = error.details;
  return new ApiError(error.status, error.code, error.message.replace(/^operation 0: /, ''), details);
}

import type { LearnedCommit, StateKeeper } from '../replica/kept-state.ts';
import type { RecordReader } from '../replica/record-reader.ts';
import type { OperationResult } from '../resources/operation.ts';
import type { Change } from '../store/store.ts';
import type { CompiledResource } from './compiled.ts';
import type { DocumentsContext } from './documents-context.ts';

/**
 * Writes, and answers from the state that the write's own commit left. A resource with modules or inline children shows
 * several documents, and others may have written to some of them before the answer is rendered: in the same group commit,
 * or in another process.
 */
export async function answerWrite<Written extends { readonly revision: number }>(
  { modules, inlineChildren }: CompiledResource,
  { replica, store }: Pick<DocumentsContext, 'replica' | 'store'>,
  write: () => Promise<Written>,
  answer: (written: Written, reader: RecordReader) => Promise<OperationResult>,
): Promise<OperationResult> {
  const kept = modules.length + inlineChildren.length === 0 ? null : replica.keepState();
  try {
    const written = await write();
    const reader = kept === null ? replica : await stateAt(written.revision, kept, { replica, store });
    return { ...(await answer(written, reader)), revision: written.revision };
  } finally {
    kept?.end();
  }
}

/** The feed shows a commit of another process as later ones left it. The history has its documents. */
async function stateAt(
  revision: number,
  kept: StateKeeper,
  { replica, store }: Pick<DocumentsContext, 'replica' | 'store'>,
): Promise<RecordReader> {
  const missing = kept.missing(revision);
  if (missing === null) return replica;
  if (missing.length > 0) kept.learn(await Promise.all(missing.map((each) => commitOf(each, store))));
  return kept.at(revision);
}

async function commitOf(revision: number, { history }: DocumentsContext['store']): Promise<LearnedCommit> {
  const entry = await history.get(revision);
  const changes = (entry?.items ?? []).map(({ kind, id, after }): Change => {
    return after === null
      ? { op: 'delete', key: { kind, id }, revision }
      : { op: 'put', record: { kind, id, revision, ...after } };
  });
  return { revision, changes };
}

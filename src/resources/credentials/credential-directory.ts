import type { JsonObject } from '../../lib/json.ts';
import { readOrNull } from '../../lib/read-or-null.ts';
import { hashToken } from '../../lib/text/token-hash.ts';
import type { Replica } from '../../replica/replica.ts';
import type { StoredRecord } from '../../store/store.ts';

const KIND = 'credential';

/** The hash of its token. Throws if it is not what the API writes. */
export function readCredential(doc: JsonObject): string {
  const { token_hash: tokenHash } = doc['internal'] as JsonObject;
  if (typeof tokenHash !== 'string') throw new Error('the credential has no hash');
  return tokenHash;
}

interface CredentialRights {
  readonly acl: readonly string[];
}

export interface CredentialDirectory {
  find(token: string): (CredentialRights & { readonly id: string }) | null;
  get(id: string): CredentialRights | null;
  /** Reads what other processes have changed. Calls at the same time share one query. */
  refresh(): Promise<void>;
  /** False: for some seconds it has been unknown here what other processes deleted. */
  isCurrent(): boolean;
  /** The listener is called when a credential is changed or deleted. */
  onChange(listener: (credentialId: string) => void): () => void;
}

/** What other processes did to the store. */
interface OtherProcesses {
  readonly isCurrent: boolean;
  catchUp(): Promise<void>;
}

/** Agents' credentials by token, without a database. */
export function credentialDirectory(replica: Replica, others: OtherProcesses): CredentialDirectory {
  const idByHash = new Map<string, string>();
  const hashById = new Map<string, string>();
  const remove = (id: string): void => {
    idByHash.delete(hashById.get(id) ?? '');
    hashById.delete(id);
  };
  const add = ({ id, doc }: StoredRecord): void => {
    remove(id);
    const tokenHash = readOrNull(() => readCredential(doc));
    if (tokenHash === null) return;
    idByHash.set(tokenHash, id);
    hashById.set(id, tokenHash);
  };
  for (const record of replica.all(KIND)) add(record);
  const listeners = new Set<(credentialId: string) => void>();
  replica.onChange(
    (changes) => {
      for (const change of changes) {
        const { kind, id } = change.op === 'put' ? change.record : change.key;
        if (kind !== KIND) continue;
        if (change.op === 'put') add(change.record);
        else remove(id);
        for (const listener of listeners) listener(id);
      }
    },
    [KIND],
  );
  const get: CredentialDirectory['get'] = (id) => {
    const record = replica.get(KIND, id);
    return record === undefined ? null : { acl: record.doc['acl'] as readonly string[] };
  };
  return {
    get,
    refresh: () => others.catchUp(),
    isCurrent: () => others.isCurrent,
    find: (token) => {
      const id = idByHash.get(hashToken(token));
      const found = id === undefined ? null : get(id);
      return id === undefined || found === null ? null : { id, ...found };
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

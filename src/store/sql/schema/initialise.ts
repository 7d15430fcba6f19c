import { createKsuidSource } from '../../../lib/ksuid.ts';
import type { Keyring } from '../../keyring.ts';
import { type KeySource, loadKeyring, sealKeyCheck, verifyKeyCheck } from '../../load-keyring.ts';
import { adoptCommit, type CommitMark } from '../commits/commit-rows.ts';
import type { Program } from '../statements/statement.ts';
import { readMeta, writeMeta } from './meta-rows.ts';
import { migrate } from './migrate.ts';
import type { Dialect } from './schema.ts';

export interface Initialised {
  /** The last commit of the store when it was opened. */
  readonly commit: CommitMark;
  readonly keyring: Keyring;
  readonly accountId: string;
}

/**
 * Migrates, checks the secret key, and creates what a new store needs, all in one transaction that other starting
 * processes wait for. The key file is written before the check value is committed: a crash in between leaves a key
 * without a store, which the next start uses, never a store without its key.
 */
export function* initialise(dialect: Dialect, source: KeySource): Program<Initialised> {
  yield* migrate({ dialect, mayFollow: true });
  const check = yield* readMeta('key_check');
  const keyring = loadKeyring({ ...source, mayCreate: check === null });
  if (check === null) yield* writeMeta('key_check', sealKeyCheck(keyring));
  else verifyKeyCheck(check, keyring, source);
  const accountId = (yield* readMeta('account_id')) ?? `ac_${createKsuidSource()(Date.now())}`;
  if (check === null) yield* writeMeta('account_id', accountId);
  return { keyring, accountId, commit: yield* adoptCommit() };
}

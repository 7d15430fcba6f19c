import { hash } from 'node:crypto';
import type { FoundArtifact, IdentityArtifact, IdentityStore } from '../identity-store.ts';
import type { Keyring } from '../keyring.ts';
import type { LoginChange, RecordKey } from '../store.ts';
import type { ArtifactRow, FoundArtifactRow } from './identity-rows.ts';
import { parseObject, sealContext } from './seal.ts';
import type { SqlEngine } from './sql-engine.ts';
import type { TimeAt } from './statement.ts';

/** Names the row in the seal: a payload opens nowhere else. */
export function artifactKey(model: string, idHash: string): RecordKey {
  return { kind: 'identity_artifact', id: `${model}/${idHash}` };
}

export function createIdentityStore(
  engine: SqlEngine,
  keyring: Keyring,
  timeAt: TimeAt,
  announceLogins: (changes: readonly LoginChange[]) => void,
): IdentityStore {
  function rowOf(artifact: IdentityArtifact): ArtifactRow {
    const { model, accountId, grantId, sessionUid, application, expiresAtMs } = artifact;
    const idHash = hashOf(artifact.id);
    return {
      model,
      idHash,
      accountId,
      grantId,
      grantHash: grantId === null ? null : hashOf(grantId),
      sessionUid,
      expiresAtMs,
      clientId: application?.clientId ?? null,
      providerSessionId: application?.providerSessionId ?? null,
      payload: keyring.seal(JSON.stringify(artifact.payload), sealContext(artifactKey(model, idHash))),
    };
  }

  function opened(row: FoundArtifactRow): FoundArtifact {
    const text = keyring.open(row.payload, sealContext(artifactKey(row.model, row.idHash)));
    const { expiresAtMs, consumedAtMs } = row;
    return { payload: parseObject(text), expiresAtMs, consumedAtMs: consumedAtMs === 0 ? null : consumedAtMs };
  }

  function openedOrNull(row: FoundArtifactRow | null): FoundArtifact | null {
    return row === null || row.expiresAtMs <= timeAt().nowMs ? null : opened(row);
  }

  return {
    beginSession: (session, { kind, id }) => engine.write('beginIdentitySession', rowOf(session), { kind, id }),
    replaceSession: (session) => engine.write('replaceIdentitySession', rowOf(session)),
    remember: (decision) => engine.write('rememberDecision', rowOf(decision)),
    put: (artifact) => engine.write('putArtifact', rowOf(artifact)),
    find: async (model, id) => openedOrNull(await engine.readProven('findArtifact', model, hashOf(id))),
    findSession: async (uid) => openedOrNull(await engine.readProven('findIdentitySession', uid)),
    list: async (model, accountId) => {
      const rows = await engine.readProven('listArtifacts', model, accountId);
      return rows.flatMap((row) => openedOrNull(row) ?? []);
    },
    consume: (model, id) => engine.write('consumeArtifact', model, hashOf(id), timeAt().nowMs),
    remove: (model, id) => engine.write('removeArtifact', model, hashOf(id)),
    removeGrant: (grantId) => engine.write('removeGrant', grantId, hashOf(grantId), timeAt().nowMs),
    endSession: async ({ issuer, sessionUid, providerSessionId }) => {
      const ended = { issuer, sessionUid, providerSessionId };
      const { isEnded, changes } = await engine.write('endIdentitySession', ended, timeAt().nowMs);
      announceLogins(changes);
      return isEnded;
    },
    endApplication: async ({ issuer, sessionUid, providerSessionId, clientId }, without) => {
      for (;;) {
        const row = await engine.readProven('findIdentitySession', sessionUid);
        const session = openedOrNull(row);
        const left = session === null ? null : without(session.payload);
        if (row === null || left === null) return false;
        const { grantId } = left;
        const payload = keyring.seal(JSON.stringify(left.payload), sealContext(artifactKey(row.model, row.idHash)));
        const grant = grantId === null ? null : { grantId, grantHash: hashOf(grantId) };
        const ended = { issuer, sessionUid, providerSessionId, clientId, grant, seenPayload: row.payload, payload };
        const changes = await engine.write('endIdentityApplication', ended, timeAt().nowMs);
        // Somebody else changed the session in between.
        if (changes === null) continue;
        announceLogins(changes);
        return true;
      }
    },
    hasDueLogouts: (nowMs) => engine.read('hasDueLogouts', nowMs),
    claimLogouts: (nowMs, retryAtMs) => engine.write('claimIdentityLogouts', nowMs, retryAtMs),
    settleLogouts: async (ids) => {
      if (ids.length > 0) await engine.write('settleIdentityLogouts', ids);
    },
  };
}

/** Ids of what must be secret are random, with 126 bits or more. */
function hashOf(id: string): string {
  return hash('sha256', id);
}

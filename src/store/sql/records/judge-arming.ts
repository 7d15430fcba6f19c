import { PENDING_CHANGE } from '../../pending-change.ts';
import type { Refused } from '../sealing/sealed-write-set.ts';
import { integer, type Program, queryOne } from '../statements/statement.ts';
import type { Judged } from './judged.ts';
import { keyOf } from './record-rows.ts';

const NEWER_REFERRER = `SELECT records.kind AS kind, records.id AS id, records.revision AS revision
  FROM record_references JOIN records ON records.kind = from_kind AND records.id = from_id
  WHERE to_kind = ? AND to_id = ? AND from_kind <> '${PENDING_CHANGE.kind}' AND records.revision > ? LIMIT 1`;

/** Whether a record may lead elsewhere was decided by what refers to it: another node may have just changed that. */
export function* judgeArming({ puts }: Judged): Program<Refused | null> {
  for (const { kind, id, armedAsOf } of puts.values()) {
    if (armedAsOf === null) continue;
    const newer = yield* queryOne(NEWER_REFERRER, [kind, id, armedAsOf]);
    if (newer !== null) return { ok: false, reason: 'conflict', key: keyOf(newer), actual: integer(newer, 'revision') };
  }
  return null;
}

import { MAIL_KIND } from '../../store/kinds-without-history.ts';
import type { RecordPut, StoredRecord } from '../../store/store.ts';
import type { PersonalMail } from '../contracts/identity-mail.ts';

export interface QueuedMail extends PersonalMail {
  readonly id: string;
  readonly attempts: number;
  readonly nextAttemptMs: number;
  readonly record: StoredRecord;
}

/** Address and text are sealed at rest: a code or link in them lets somebody in. */
const SECRET = '/mail';

interface Progress {
  readonly attempts: number;
  readonly nextAttemptMs: number;
}

export function mailPut(
  id: string,
  { expiresAtMs, ...sealed }: PersonalMail,
  { attempts, nextAttemptMs }: Progress,
): RecordPut {
  return {
    kind: MAIL_KIND,
    id,
    parent: null,
    doc: { expires_at_ms: expiresAtMs, attempts, next_attempt_ms: nextAttemptMs },
    secrets: { [SECRET]: JSON.stringify(sealed) },
    uniqueKeys: [],
    references: [],
  };
}

export function mailOf(record: StoredRecord): QueuedMail {
  const { expires_at_ms: expiresAtMs, attempts, next_attempt_ms: nextAttemptMs } = record.doc as Record<string, number>;
  const { to, subject, text } = JSON.parse(record.secrets?.[SECRET] ?? '{}') as PersonalMail;
  return {
    ...{ id: record.id, to, subject, text, record },
    expiresAtMs: expiresAtMs ?? 0,
    attempts: attempts ?? 0,
    nextAttemptMs: nextAttemptMs ?? 0,
  };
}

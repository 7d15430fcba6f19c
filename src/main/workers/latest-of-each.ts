import type { LoginRecord } from '../../modules/contract/login-store.ts';

/** Each login once, as the thread with its last version knows it, with the last use that any thread has seen. */
export function latestOfEach(records: readonly LoginRecord[]): readonly LoginRecord[] {
  const latest = new Map<string, LoginRecord>();
  for (const record of records) {
    const other = latest.get(record.id);
    const [newer, older] = other !== undefined && other.version > record.version ? [other, record] : [record, other];
    latest.set(record.id, { ...newer, lastActiveMs: Math.max(newer.lastActiveMs, older?.lastActiveMs ?? 0) });
  }
  return [...latest.values()];
}

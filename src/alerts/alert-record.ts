import { rfc3339 } from '../lib/clock.ts';
import type { JsonObject } from '../lib/json.ts';
import type { OutboxEvent, RecordPut, StoredRecord } from '../store/store.ts';
import { alertAdvice } from './kinds/registry.ts';

/** Raised alerts are records: every node knows them, and they survive a restart. */
export const ALERT_KIND = 'alert';
export const ALERT_RAISED = 'alert_raised.v0';
export const ALERT_RESOLVED = 'alert_resolved.v0';

export interface AlertDoc {
  readonly kind: string;
  readonly subject: string;
  readonly title: string;
  /** Name of the node that raised it. */
  readonly node: string;
  readonly raised_at: string;
  /** Absent: nobody has dismissed it. */
  readonly dismissed_at?: string | null;
}

export function alertDoc({ doc }: Pick<StoredRecord, 'doc'>): AlertDoc {
  return doc as unknown as AlertDoc;
}

/** One alert per kind and subject, whichever node is first. */
export function alertPut(id: string, alert: AlertDoc): RecordPut {
  const uniqueKeys = [{ scope: ALERT_KIND, key: `${alert.kind}\n${alert.subject}` }];
  return { kind: ALERT_KIND, id, parent: null, doc: { ...alert }, secrets: null, uniqueKeys, references: [] };
}

/** As the API and events show it. */
export function alertForm(ref: { readonly id: string; readonly uri: string }, alert: AlertDoc): JsonObject {
  const { dismissed_at: dismissedAt = null } = alert;
  const status = dismissedAt === null ? 'raised' : 'dismissed';
  return { ...ref, ...alert, advice: alertAdvice(alert.kind), status, dismissed_at: dismissedAt, resolved_at: null };
}

export interface EventOptions {
  readonly id: string;
  readonly accountId: string;
  readonly nowMs: number;
}

export function alertEvent(type: string, object: JsonObject, { id, accountId, nowMs }: EventOptions): OutboxEvent {
  const payload = {
    event_id: id,
    event_type: type,
    event_timestamp: rfc3339(nowMs),
    account_id: accountId,
    // The server acts by itself.
    principal: null,
    object,
  };
  // The store knows best who subscribed.
  return { id, type, createdAtMs: nowMs, payload, isUncertain: true };
}

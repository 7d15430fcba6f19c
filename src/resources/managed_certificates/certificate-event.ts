import type { CertificateEventType } from '../../acme/orders/order-ports.ts';
import { rfc3339 } from '../../lib/clock.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { OutboxEvent, StoredRecord } from '../../store/store.ts';
import type { SharedPorts } from '../shared-ports.ts';
import { renderManagedCertificate } from './managed-certificates.ts';

export interface CertificateEventPorts extends Pick<SharedPorts, 'ref' | 'clock' | 'hostCertificates' | 'newId'> {
  readonly accountId: string;
  /** `unknown` where another process may have just added a subscription: then the store decides. */
  isWanted(type: string): boolean | 'unknown';
}

/** The event that reports a change of a managed certificate, for the commit that makes it. `record`: as it will be. */
export function certificateEvent(
  type: CertificateEventType,
  record: Pick<StoredRecord, 'id' | 'doc'>,
  ports: CertificateEventPorts,
): readonly OutboxEvent[] {
  const isWanted = ports.isWanted(type);
  if (isWanted === false) return [];
  const id = ports.newId('ev');
  const createdAtMs = ports.clock.nowMs();
  const payload: JsonObject = {
    event_id: id,
    event_type: type,
    event_timestamp: rfc3339(createdAtMs),
    account_id: ports.accountId,
    // The server acts by itself.
    principal: null,
    object: renderManagedCertificate(record, ports),
  };
  return [{ id, type, createdAtMs, payload, isUncertain: isWanted === 'unknown' }];
}

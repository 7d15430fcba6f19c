import type { CertificateEventType } from '../../acme/orders/open-order.ts';
import type { OutboxEvent, StoredRecord } from '../../store/store.ts';
import { type LiveEventPorts, liveEvent } from '../live-event.ts';
import type { SharedPorts } from '../shared-ports.ts';
import { renderManagedCertificate } from './managed-certificates.ts';

type CertificateEventPorts = LiveEventPorts & Pick<SharedPorts, 'hostCertificates'>;

/** The event that reports a change of a managed certificate, for the commit that makes it. `record`: as it will be. */
export function certificateEvent(
  type: CertificateEventType,
  record: Pick<StoredRecord, 'id' | 'doc'>,
  ports: CertificateEventPorts,
): readonly OutboxEvent[] {
  return liveEvent(type, () => renderManagedCertificate(record, ports), '', ports);
}

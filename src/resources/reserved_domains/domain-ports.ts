import type { DocumentsPort } from '../documents-port.ts';
import type { SharedPorts } from '../shared-ports.ts';

export interface DomainPorts extends Pick<SharedPorts, 'hostCertificates'> {
  readonly documents: Pick<DocumentsPort, 'update'>;
}

import type { ChangesPort } from '../changes-port.ts';
import type { SharedPorts } from '../shared-ports.ts';

export interface ChangePorts extends Pick<SharedPorts, 'uri'> {
  readonly changes: ChangesPort;
}

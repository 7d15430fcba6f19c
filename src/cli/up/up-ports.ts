import type { AddressRecords } from '../../acme/orders/dns-diagnosis.ts';
import type { CommandContext } from '../command.ts';
import type { DoctorPorts } from '../doctor/doctor-ports.ts';
import type { ServicePorts } from '../service/service-ports.ts';

/** The machine and the world around it, as far as `postern up` touches them. */
export interface UpPorts extends DoctorPorts {
  readonly service: ServicePorts;
  /** What DNS and the hosts file say. Rejects if DNS does not answer. */
  records(host: string): Promise<AddressRecords>;
  /** Addresses of this machine's interfaces. */
  ownAddresses(): readonly string[];
  /** How long to wait for certificates that are on order. */
  readonly certificateWaitMs: number;
  /** Runs `postern server` with these arguments in this process. */
  serve(args: readonly string[], context: CommandContext): ServerHere;
  /** Replaces the server that runs with this data directory, as `postern restart` does. Resolves to the exit code. */
  restart(dataDir: string, context: CommandContext): Promise<number>;
}

export interface ServerHere {
  /** Its exit code. Rejects if it cannot start. */
  readonly ended: Promise<number>;
  /** Stops it, and lets the command fail. */
  stop(): void;
}

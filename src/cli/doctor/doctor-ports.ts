import type { Config } from '../../config/schema.ts';

/** What the command needs of the parts that it may not know: `src/main` wires it. */
export interface DoctorPorts {
  nowMs(): number;
  /** PEM of the internal CAs that can be read here. */
  internalAuthorities(config: Config): Promise<readonly string[]>;
}

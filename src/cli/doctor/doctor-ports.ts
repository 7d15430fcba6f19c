import type { Config } from '../../config/schema.ts';

/** Access to parts that the command may not import: `src/main` wires it. */
export interface DoctorPorts {
  nowMs(): number;
  /** PEM of the internal CAs that can be read here. */
  internalAuthorities(config: Config): Promise<readonly string[]>;
}

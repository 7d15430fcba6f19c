import type { EnrollOptions, Enrolment } from '../../../agent/enrollment/enroll.ts';
import type { AgentPorts } from '../agent-ports.ts';

/** External effects of `postern agent join`. */
export interface JoinPorts {
  readonly files: AgentPorts['files'] & {
    /** Absolute, with symbolic links of an existing file resolved. */
    resolve(path: string): Promise<string>;
    /** Atomically, readable for this user only; creates the directory. */
    writePrivate(path: string, text: string): Promise<void>;
    remove(path: string): Promise<void>;
  };
  readonly hostName: string;
  enroll(options: EnrollOptions): Promise<Enrolment>;
  /** The token of a new credential. */
  newToken(): string;
  readStdin(): Promise<string>;
}

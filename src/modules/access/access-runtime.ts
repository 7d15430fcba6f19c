import { login } from '../login/login.ts';
import type { ModuleRuntime, RuntimePorts } from '../module-runtime.ts';
import { ProgramsRuntime } from './programs/programs-runtime.ts';

export type CountedDecision = 'allow' | 'refuse' | 'would_refuse';

/** The module's state for the whole process. */
export class AccessRuntime implements ModuleRuntime {
  readonly count: (decision: CountedDecision) => void;
  readonly programs: ProgramsRuntime;

  static open(ports: RuntimePorts): Promise<AccessRuntime> {
    return Promise.resolve(new AccessRuntime(ports));
  }

  private constructor(ports: RuntimePorts) {
    this.programs = new ProgramsRuntime(ports, ports.shared(login));
    this.count = ports.counter({
      name: 'postern_access_decisions_total',
      help: 'Decisions of access rules, by result. Streams in progress are decided again when a rule or an identity changes.',
      label: 'decision',
    });
  }

  async close(): Promise<void> {
    await this.programs.close();
  }
}

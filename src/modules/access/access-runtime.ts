import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';
import { Guests } from './guests/guests.ts';
import { ProgramsRuntime } from './programs/programs-runtime.ts';

export type CountedDecision = 'allow' | 'refuse' | 'would_refuse';

/** The module's state for the whole process. */
export class AccessRuntime implements ModuleRuntime {
  readonly count: (decision: CountedDecision) => void;
  readonly login: LoginRuntime;
  readonly programs: ProgramsRuntime;
  readonly guests: Guests;

  static open(ports: RuntimePorts): Promise<AccessRuntime> {
    return Promise.resolve(new AccessRuntime(ports));
  }

  private constructor(ports: RuntimePorts) {
    this.login = ports.shared(login);
    this.programs = new ProgramsRuntime(ports, this.login);
    this.guests = new Guests(ports, this.login);
    this.count = ports.counter({
      name: 'postern_access_decisions_total',
      help: 'Decisions of access rules, by result. Streams in progress are decided again when a rule or an identity changes.',
      label: 'decision',
    });
  }

  async close(): Promise<void> {
    this.guests.close();
    await this.programs.close();
  }
}

import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { headerChanges } from './header-changes.ts';

/** The state of a module that changes headers: what it shares with the other one. */
export class HeaderRuntime implements ModuleRuntime {
  readonly leftOut: (module: string) => void;

  private constructor(leftOut: (module: string) => void) {
    this.leftOut = leftOut;
  }

  static async open(ports: RuntimePorts): Promise<HeaderRuntime> {
    return new HeaderRuntime(ports.shared(headerChanges).leftOut);
  }

  async close(): Promise<void> {}
}

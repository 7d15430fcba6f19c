import type { ModuleRuntime, RuntimePorts } from '../contract/keeps-state.ts';
import { login } from '../login/login.ts';
import type { LoginRuntime } from '../login/login-runtime.ts';

/** The module's part of the logins of this process. */
export class OidcRuntime implements ModuleRuntime {
  readonly login: LoginRuntime;

  constructor(ports: Pick<RuntimePorts, 'shared' | 'ownConfigs'>) {
    this.login = ports.shared(login);
    this.login.keepClients((edgeId) =>
      ports.ownConfigs(edgeId).map((config) => ({
        issuer: config['issuer'] as string,
        // A route without a client at our own provider has the one of its edge.
        clientId: (config['client_id'] as string) || edgeId,
      })),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

import type { Welcome } from '../../tunnel/messages.ts';
import { MAX_OTHER_NODES } from '../../tunnel/protocol.ts';
import type { LocalConnection } from '../local-connection.ts';
import type { ClusterPorts } from './cluster-ports.ts';

type OtherNode = NonNullable<Welcome['nodes']>[number];

/** Tells agents which node they are connected to, and where else they may dial. */
export class OtherNodes {
  readonly #membership: ClusterPorts['membership'];
  readonly #stop: () => void;
  #told: string;

  constructor(membership: ClusterPorts['membership'], connections: () => Iterable<LocalConnection>) {
    this.#membership = membership;
    this.#told = JSON.stringify(this.#list());
    this.#stop = membership.onChange(() => {
      const nodes = this.#list();
      const text = JSON.stringify(nodes);
      if (text === this.#told) return;
      this.#told = text;
      for (const connection of connections()) connection.send({ t: 'nodes', nodes });
    });
  }

  /** For `welcome`. */
  fields(): { readonly node: { readonly id: string; readonly name: string }; readonly nodes: OtherNode[] } {
    const { id, name } = this.#membership.self;
    return { node: { id, name }, nodes: this.#list() };
  }

  close(): void {
    this.#stop();
  }

  #list(): OtherNode[] {
    return this.#membership
      .nodes()
      .filter(
        ({ id, status, roles }) => id !== this.#membership.self.id && status === 'ready' && roles.includes('gateway'),
      )
      .slice(0, MAX_OTHER_NODES)
      .map(({ id, name, tunnelAddress }) => ({ id, name, address: tunnelAddress }));
  }
}

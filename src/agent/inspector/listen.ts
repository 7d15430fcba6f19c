import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatListenAddress, type ListenAddress } from '../../lib/net/listen-address.ts';
import { AgentError } from '../agent-error.ts';

const MORE_PORTS = 10;

/** Binds the first free port, starting at the requested one. Throws `AgentError`. */
export async function listenNear(server: Server, { host, port }: ListenAddress): Promise<ListenAddress> {
  for (let tried = port; ; tried += 1) {
    try {
      server.listen({ host, port: tried, exclusive: true });
      await once(server, 'listening');
      return { host, port: (server.address() as AddressInfo).port };
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
      if (isTaken && tried < port + MORE_PORTS && tried < 65_535) continue;
      const range = tried === port ? '' : ` and the ${tried - port} ports after it`;
      const message = `the inspector cannot listen on ${formatListenAddress({ host, port })}${range}: ${(error as Error).message}`;
      throw new AgentError('ERR_POSTERN_AGENT_INSPECTOR', message, { cause: error });
    }
  }
}
